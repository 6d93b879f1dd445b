"""What a system is: the contract between the command line and a kind of file.

A system is an object with a `name`. Files with that name as a top-level key belong to it, and so do
the runs they make. A package adds one with an entry point in its `pyproject.toml`:

    [project.entry-points."fanwise.systems"]
    poll = "my_package.poll:SYSTEM"

`runnable` checks a file completely and returns a `Runnable`; it starts, spends and writes nothing,
because `fanwise check` calls it too. Problems are `BadSpec` errors (see `fanwise.specs.check`).

`Runnable.execute` does its work in fan-outs of `run`, with stable names and keys, so that a resume
finds their outcomes. It creates no tasks, threads or locks of its own. When the run is halted or
cancelled, its fan-outs return early, and `execute` returns what it has. Neither method prints.

Everything else is optional: `describe_item` or `describe_run` for `fanwise show`, and the methods
of `ReportingSystem`, `ExportingSystem`, `ScoringSystem`, `PreviewingSystem`,
`SimulatingSystem`, `ComparingSystem` and `VersionedSystem` for the commands of these names. For
`fanwise view`: `questions(journal, run)` and `actions(journal, run)` (see `fanwise.view.question`),
`ListingSystem` and `CompletingSystem`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from fanwise.core.counts import Counts
from fanwise.system_options import Option, not_an_option

if TYPE_CHECKING:
    from fanwise.core.budget import Budget
    from fanwise.core.caps import Caps
    from fanwise.errors import Problem
    from fanwise.journal.port import AttemptRecord, Journal, RunRecord
    from fanwise.kernel.events import Event
    from fanwise.kernel.run import Run
    from fanwise.specs.document import Document
    from fanwise.view.flow_chart import FlowNode
    from fanwise.view.html import PageParts
    from fanwise.view.item_table import ItemsWanted, ListedItems
    from fanwise.view.table import Table


COMMANDS = {"run", "resume", "check"}
"""The commands whose options go to `runnable` and `resume`."""


class End(msgspec.Struct, frozen=True):
    """The result of `Runnable.execute`."""

    document: Any = None
    """JSON-able: the `result` of `--json`."""
    output: Sequence[str] = ()
    """Lines for stdout: the result."""
    notes: Sequence[str] = ()
    """Lines for stderr: what else users should know. Indented lines belong to the one before."""
    exit_code: int = 0
    """0 done, 1 some failed, 3 paused; above 130 if a signal ended it. If the run was halted, the
    command line exits with 130."""
    counts: Counts | None = None
    """How far it came. A run that did less than asked ends as halted: see `Run.conclude`."""
    status: str | None = None
    """The system's own word for the status, if it has one; see `Run.end_as`."""
    facts: Mapping[str, Any] = {}
    """Further keys of the `--json` document, next to `result`."""
    resume_with: Sequence[str] = ()
    """Arguments that `fanwise resume` needs to get any further, such as an answer."""
    failures: Sequence[str] = ()
    """A line for each part that failed."""
    table: Callable[[Journal], Table] | None = None
    """A table that may not fit into memory: `--json` prints its rows last."""


class Opening(msgspec.Struct, frozen=True):
    """How the run is opened; a `Runnable` may have one as its `opening`."""

    run_id: str | None = None
    """The id if the user gives none, so that the next `fanwise run` continues this run."""
    may_change: bool = False
    """An edited file continues the run too: items with the same key are kept."""
    retry_failed: bool = False
    """Run failed items again."""


class Approval(msgspec.Struct, frozen=True):
    """What the user has to approve before anything runs."""

    lines: Sequence[str]
    """What it would do and spend."""
    question: str


@runtime_checkable
class ApprovedRunnable(Protocol):
    """A runnable that `fanwise run` shows to the user before anything is recorded or spent.

    Resumes, workflows and programs do not ask; calling them is the approval. The system should
    declare an option `yes`, which skips the question.
    """

    def approval(self, journal: Journal | None, run: RunRecord | None) -> Approval | None:
        """What to approve; None: nothing. `run`: the run that it would continue."""


class DescribeItem(Protocol):
    """`describe_item`: a method that describes an item of a top-level fan-out."""

    def __call__(self, key: str, value: Any, *, fully: bool) -> Sequence[str]:
        """The item's value as text for `fanwise show`: one line, or everything if `fully`."""


class DescribeRun(Protocol):
    """`describe_run`: a method that describes a run as a whole, instead of its items."""

    def __call__(
        self, journal: Journal, run: RunRecord, *, fully: bool, **options: Any
    ) -> Iterable[str]:
        """Text for `fanwise show`: a few lines, or everything if `fully`.

        With `replaces_default_view = True`, `show` does not list the fan-outs and events.
        """


Piece = tuple[str, str]
"""Text for a terminal, and its rich style: "bold", "red", "" for none."""


class Drawing(Protocol):
    """The `drawing` of a `Runnable`: what a terminal shows above the progress line.

    With `tells_time_left = True`, the progress line does not tell it.
    """

    def __call__(self, event: Event) -> None:
        """Called with every event of the run; must be quick."""

    def lines(self, now: float, rows: int, width: int) -> Sequence[Sequence[Piece]]:
        """At most `rows` lines, cut to `width`. Called several times a second.

        `now` is the time of the event loop.
        """


class Screen(Protocol):
    """The terminal, on which the progress of a run is drawn."""

    def expect(self, total: int) -> None:
        """The number of items, which was not known at the start."""

    def make_room(self, fd: int) -> None:
        """Something will be written to this descriptor."""

    def wrote(self, fd: int, data: bytes) -> None: ...

    def say(self, text: str) -> None:
        """Write a message to stderr."""


@runtime_checkable
class StreamingRunnable(Protocol):
    """A runnable that writes to stdout while it runs, instead of at the end.

    With `quiet = True`, there is no progress line, and no message if all went well.
    """

    def use(self, screen: Screen, *, stdout: bool) -> None:
        """Called by the command line before `execute`. `stdout`: whether it may write there."""


class Runnable(Protocol):
    """A file that can be run, or a run that can be resumed.

    It may also have an `opening`, a `drawing`, a `unit`, a `folder`, whose commit is recorded with
    the run, and an `on`: where its attempts run, unless the user says otherwise. With
    `stays_here = True`, it works on this machine only, and `--on` is refused.
    """

    @property
    def title(self) -> str:
        """A short title, for `fanwise runs`."""

    @property
    def spec(self) -> Any:
        """JSON-able: all that a resume needs, with absolute paths. Equal specs: the same run."""

    @property
    def caps(self) -> Caps | None:
        """The caps of the run."""

    @property
    def budget(self) -> Budget | None:
        """The budget of the run."""

    @property
    def total(self) -> int | None:
        """How many items the top-level fan-outs will have, if that is known.

        `fanwise check` calls them items, unless the runnable has a `unit`, such as "cell".
        """

    def describe(self) -> Sequence[str]:
        """What would run, in a few lines for `fanwise check`."""

    async def execute(self, run: Run) -> End:
        """Run it, or continue it: `run` knows which items are finished."""


class System(Protocol):
    """A kind of file, and of runs.

    A system may declare options of the command line: `options`, a sequence of `Option`. What was
    given is passed as keywords to the method behind the command:

    | command | method |
    |---|---|
    | `run`, `check` | `runnable(document, **options)` |
    | `check`, if the system has it | `preview(document, **options)` |
    | `resume` | `resume(spec, **options)` |
    | `simulate` | `simulate(document, assumed, **options)` |
    | `show` | `describe_run(journal, run, fully=…, **options)` |
    | `report` | `report(journal, run, **options)` |
    | `export` | `table(journal, run, **options)` |
    | `score` | `scoring(spec, document, **options)` |

    With `records_inputs = True`, `Journal.inputs` has the input of each item of its only top-level
    fan-out, in item order, and `show` and `export` name items by it. If the spec of the run has
    `key: true`, the key of an item is the text of its input.

    With a method `count(journal, run)`, `show` and `runs` count what users do (cells, sub-plans)
    instead of items, also of a run that was killed; of one that has ended, `End.counts` is used.

    With a method `schema()`, `fanwise schema` prints what it returns; `schema_of` in
    `fanwise.specs.schema` makes a JSON schema of the model that checks its files.

    fanwise imports a third-party system to learn its options, so keep its module light: import
    what is heavy in the methods that need it.
    """

    @property
    def name(self) -> str:
        """The top-level key of its files, and the kind of its runs."""

    def runnable(self, document: Document) -> Runnable:
        """A file, checked completely. `BadSpec`."""

    def resume(self, spec: Any) -> Runnable:
        """A recorded run, from its `Runnable.spec`. The file may be gone."""


@runtime_checkable
class ScoringSystem(Protocol):
    """A system that can score the answers of a run again: `fanwise score`."""

    def scoring(self, spec: Any, document: Document | None, **options: Any) -> Runnable:
        """A runnable that only scores. `document`: a file with other scorers."""


class Report(msgspec.Struct, frozen=True):
    """The report of a run."""

    html: str
    """A page that needs no other files and no network."""
    lines: Sequence[str]
    """A summary for stdout."""
    document: Any
    """The same, JSON-able."""
    page: PageParts | None = None
    """The parts of the page, which `fanwise view` shows; None: it offers the file."""


@runtime_checkable
class ReportingSystem(Protocol):
    """A system with a page for each run: `fanwise report`.

    `fanwise.view.html.Templates` renders the page from Jinja templates of your package.
    """

    def report(self, journal: Journal, run: RunRecord, **options: Any) -> Report:
        """The report as of now; the run may still be going on."""


@runtime_checkable
class GraphingSystem(Protocol):
    """A system whose files are steps that can be drawn: `fanwise graph`."""

    def flow(self, document: Document) -> Sequence[FlowNode]:
        """The steps of a file. `BadSpec`."""

    def flow_of_run(self, journal: Journal, run: RunRecord) -> Sequence[FlowNode]:
        """The steps of a run as of now, each with its state."""


class ComparedRun(msgspec.Struct, frozen=True):
    """One of the runs that `fanwise compare` compares: its rows, as `export` writes them."""

    name: str
    rows: Sequence[Mapping[str, Any]] = ()
    file: Mapping[str, Any] | None = None
    """What the run's file says; None: unknown."""


@runtime_checkable
class ComparingSystem(Protocol):
    """A system whose runs can be compared: `fanwise compare`."""

    def compared_run(self, journal: Journal, run: RunRecord, **options: Any) -> ComparedRun:
        """A run as the journal has it now; `version`: as it was then."""

    def compare(self, runs: Sequence[ComparedRun]) -> Report:
        """Each of them with the first. `UsageError` for rows that no run of this system has."""


@runtime_checkable
class VersionedSystem(Protocol):
    """A system whose runs keep what they were before an edit: `RUN@2`, `fanwise runs --name`.

    `describe_run`, `report`, `table` and `compared_run` take the name of a version as `version`:
    a number, `latest` or `baseline`.
    """

    def versions(self, journal: Journal, run: RunRecord) -> Table:
        """One row for each, the oldest first."""

    def set_baseline(self, journal: Journal, run: RunRecord, version: str) -> int:
        """Make that version what `RUN@baseline` means, and return its number. `UsageError`."""


@runtime_checkable
class ListingSystem(Protocol):
    """A system that lists its items with columns of its own: `fanwise view`."""

    def list_items(
        self, journal: Journal, run: RunRecord, wanted: ItemsWanted, after: int, most: int
    ) -> ListedItems:
        """The wanted items from place `after` on. See `fanwise.view.item_table`."""


@runtime_checkable
class CompletingSystem(Protocol):
    """A system whose journal leaves out what it can fill in again, such as prompts."""

    def whole_value(self, journal: Journal, run: RunRecord, path: str, key: str, value: Any) -> Any:
        """The value of an item with that: `messages`, `model`, `command`, `scores`, …"""


@runtime_checkable
class ExportingSystem(Protocol):
    """A system with a table of its own for `fanwise export`, instead of one row for each item."""

    def table(self, journal: Journal, run: RunRecord, **options: Any) -> Table:
        """As of now."""


def runnable_of(system: System, document: Document, options: Mapping[str, Any]) -> Runnable:
    """A file as the system runs it. `UsageError` for options that the system does not have."""
    _check_options(system, options)
    make: Callable[..., Runnable] = system.runnable
    return make(document, **options)


def runnable_again(system: System, spec: Any, options: Mapping[str, Any]) -> Runnable:
    """A recorded run as the system resumes it."""
    _check_options(system, options)
    make: Callable[..., Runnable] = system.resume
    return make(spec, **options)


def _check_options(system: System, options: Mapping[str, Any]) -> None:
    declared: Sequence[Option] = getattr(system, "options", ())
    known = {each.name for each in declared if not COMMANDS.isdisjoint(each.commands or COMMANDS)}
    for name in options:
        if name not in known:
            raise not_an_option(f"--{name.replace('_', '-')}", system.name)


class Preview(msgspec.Struct, frozen=True):
    """What a file would run."""

    title: str
    items: int | None
    """How many, in its `unit`, if that is known."""
    caps: Mapping[str, int | None]
    """By name; None if there is only a rate."""
    budget: Mapping[str, float]
    describe: Sequence[str]
    """Lines of text."""
    facts: Mapping[str, Any] = {}
    """Further keys for `--json`."""
    problems: Sequence[Problem] = ()
    """Everything that is missing before it can run: keys, extras, weights, files."""
    unit: str = "item"
    """What users count, in the singular: "cell", "prompt"."""


@runtime_checkable
class PreviewingSystem(Protocol):
    """A system that can count what a file would do even if it cannot run here."""

    def preview(self, document: Document, **options: Any) -> Preview:
        """Must start, spend and write nothing. `BadSpec` for a file that cannot be counted."""


class Assumed(msgspec.Struct, frozen=True):
    """What a simulation assumes about the models."""

    latency: Mapping[str, str] = {}
    """By model, provider or `all`: `2s`, `lognormal:2s:0.5`."""
    learned: Sequence[AttemptRecord] = ()
    """Attempts of an earlier run, to learn from."""
    learned_from: str = ""
    """The id of that run."""
    recorded: Any = None
    """What the `learn` of the system made of that run, if it has one."""


@runtime_checkable
class SimulatingSystem(Protocol):
    """A system whose files can run in virtual time: `fanwise simulate`.

    With a method `learn(journal, run)` it may take more from an earlier run than its calls.
    """

    def simulate(self, document: Document, assumed: Assumed, **options: Any) -> End:
        """Time, cost and bottleneck. Needs no key; must start and ask nothing. `BadSpec`."""
