"""What a system is: the whole contract between `fanwise run` and a kind of file.

A system is an object with a `name`. A file belongs to it if that name is one of the file's
top-level keys; the runs that it makes are of that kind. To add one, say in the `pyproject.toml` of
a package:

    [project.entry-points."fanwise.systems"]
    poll = "my_package.poll:SYSTEM"

Rules: `runnable` checks the file completely, and starts, spends and writes nothing, for `fanwise
check` calls it too. All that is wrong is a `BadSpec` (see `fanwise.specs.check`). `execute` does
its work in fan-outs of `run`, with stable names and keys, so that a resume finds their outcomes; it
makes no task, thread or lock of its own. When the run is halted or cancelled from outside, its fan-
outs return early: then `execute` returns what it has. Neither prints anything. A system may also
have `describe_item` or `describe_run`, so that `fanwise show` can say what came of it, and the
methods of `ScoringSystem`, `ReportingSystem`, `ExportingSystem`, `PreviewingSystem` (so that
`fanwise check` can say what would be asked and paid also where a key is missing) and
`SimulatingSystem`, for commands of these names.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
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
    from fanwise.models.names import Spec
    from fanwise.models.port import Model, Request
    from fanwise.specs.document import Document, Where
    from fanwise.view.table import Table


COMMANDS = {"run", "resume", "check"}
"""Those whose options `runnable` and `resume` get."""


class End(msgspec.Struct, frozen=True):
    """What came of a plan."""

    document: Any = None
    """JSON-able: `result` in what `--json` prints."""
    output: Sequence[str] = ()
    """Lines for stdout: what the person asked for."""
    notes: Sequence[str] = ()
    """Lines for stderr: what the person should know. Those that are indented belong to the one
    before."""
    exit_code: int = 0
    """0 done, 1 some failed, 3 paused, or one above 130, of a run that was ended by a signal.
    fanwise itself gives 130 to a run that was halted."""
    counts: Counts | None = None
    """How far it came. A run that did less than it was asked is halted: see `Run.conclude`."""
    status: str | None = None
    """The system's own word for what the run came to, if it has one; see `Run.end_as`."""
    facts: Mapping[str, Any] = {}
    """Further keys of what `--json` prints, beside `result`."""
    resume_with: Sequence[str] = ()
    """Arguments for `fanwise resume` without which it would come no further: an answer."""
    failures: Sequence[str] = ()
    """A line for each part that failed."""
    table: Callable[[Journal], Table] | None = None
    """A table that may not fit into memory: `--json` prints its rows after all else."""


class Opening(msgspec.Struct, frozen=True):
    """How the run of a plan is opened; a plan may have one as its `opening`."""

    run_id: str | None = None
    """Where none is given: the plan's own, so that the next `fanwise run` goes on with it."""
    may_change: bool = False
    """An edited file goes on with the run too: what has the same key is kept."""
    retry_failed: bool = False
    """What failed runs once more."""


@runtime_checkable
class CountingSystem(Protocol):
    """A system whose users count something else than its items: cells, candidates, sub-plans.

    When a run has ended, `End.counts` says how far it came; this is asked while it goes on, and of
    a run that was killed.
    """

    def count(self, journal: Journal, run: RunRecord) -> Counts:
        """As the journal has it now."""


class Approval(msgspec.Struct, frozen=True):
    """What somebody has to agree to before a plan is run."""

    lines: Sequence[str]
    """What it would do and spend."""
    question: str


@runtime_checkable
class ApprovedRunnable(Protocol):
    """A plan that `fanwise run` shows, and asks about, before anything is recorded or spent.

    A resume, a workflow and a program do not ask: who calls it has approved it.
    """

    def approval(self, journal: Journal | None, run: RunRecord | None) -> Approval | None:
        """What is to be agreed to. `run`: the one that it would go on with. None: nothing is."""


class DescribeItem(Protocol):
    """A system may have a method `describe_item`: what came of an item of a top-level fan-out."""

    def __call__(self, key: str, value: Any, *, fully: bool) -> Sequence[str]:
        """Its value as lines for `fanwise show`: one, or if `fully`, all that there is."""


class DescribeRun(Protocol):
    """Instead, a system may have `describe_run`: what came of a run as a whole."""

    def __call__(
        self, journal: Journal, run: RunRecord, *, fully: bool, **options: Any
    ) -> Iterable[str]:
        """As lines for `fanwise show`: a few, or if `fully`, all that there is.

        If the system has `replaces_default_view = True`, `show` says no more of its fan-outs.
        """


Piece = tuple[str, str]
"""Text for a terminal, and its style in the words of rich: "bold", "red", "" for none."""


class Drawing(Protocol):
    """A plan may have one as its `drawing`: what is shown of it on a terminal, above the line."""

    def __call__(self, event: Event) -> None:
        """It is told all that happens in the run, and must be quick."""

    def lines(self, now: float, rows: int, width: int) -> Sequence[Sequence[Piece]]:
        """At most so many, at this time of the event loop. It is asked several times a second.

        Those that are wider are cut.
        """


class Screen(Protocol):
    """The terminal, on which the progress of a run is drawn."""

    def expect(self, total: int) -> None:
        """The number of items, which was not known at the start."""

    def make_room(self, fd: int) -> None:
        """Something will be written to this descriptor."""

    def wrote(self, fd: int, data: bytes) -> None: ...


@runtime_checkable
class StreamingRunnable(Protocol):
    """A runnable that writes to stdout while it runs, instead of at its end.

    It may also have `quiet`: then there is no progress line, and nothing is said at a good end.
    """

    def use(self, screen: Screen, *, stdout: bool) -> None:
        """Called before `execute`, by the command line. `stdout`: whether to write there."""


class Runnable(Protocol):
    """A file that can be run, or a run that can be resumed.

    It may also have an `opening`, a `drawing`, and a `folder`, whose commit is kept with the run.
    """

    @property
    def title(self) -> str:
        """In a few words, for `fanwise runs`."""

    @property
    def spec(self) -> Any:
        """JSON-able: all that a resume needs, paths absolute. An equal spec is the same run."""

    @property
    def caps(self) -> Caps | None:
        """Those of the run."""

    @property
    def budget(self) -> Budget | None:
        """That of the run."""

    @property
    def total(self) -> int | None:
        """How many items its top-level fan-outs will have, if that is known.

        `fanwise check` calls them items, unless the runnable has a `unit`: "cell".
        """

    def describe(self) -> Sequence[str]:
        """What would run, for `fanwise check`: a few lines."""

    async def execute(self, run: Run) -> End:
        """Do it, or go on with it: `run` knows what was done before."""


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

    With `records_inputs = True`, `Journal.inputs` has the input of each item of its only top-level
    fan-out, in item order, and `show` and `export` name items by it.

    fanwise imports a third-party system to learn its options, so keep its module light: import
    what is heavy in the methods that need it.
    """

    @property
    def name(self) -> str:
        """The top-level key of its files, and the kind of its runs."""

    def runnable(self, document: Document) -> Runnable:
        """A file, checked completely. `BadSpec`."""

    def resume(self, spec: Any) -> Runnable:
        """A run, from the `Runnable.spec` that its journal kept. The file may be gone."""


@runtime_checkable
class ScoringSystem(Protocol):
    """A system whose answers can be scored again without asking for them again."""

    def scoring(self, spec: Any, document: Document | None) -> Runnable:
        """A plan that only scores. `document`: a file that says how, instead of the run's."""


class Report(msgspec.Struct, frozen=True):
    """A run as people read it."""

    html: str
    """One page that needs no other file and no network."""
    lines: Sequence[str]
    """For stdout: what it comes to."""
    document: Any
    """JSON-able: the same, for programs."""


@runtime_checkable
class ReportingSystem(Protocol):
    """A system whose runs can be read as a page: `fanwise report`.

    `fanwise.view.html.Templates` makes the page from Jinja templates of your package.
    """

    def report(self, journal: Journal, run: RunRecord, **options: Any) -> Report:
        """As the journal has it now; the run may still be going on."""


@runtime_checkable
class ExportingSystem(Protocol):
    """A system whose runs have a table of their own, instead of their items: `fanwise export`."""

    def table(self, journal: Journal, run: RunRecord, **options: Any) -> Table:
        """As the journal has it now."""


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
    """What a file would run, as far as that can be told without running it."""

    title: str
    items: int | None
    """How many there are of its `unit`, if that is known."""
    caps: Mapping[str, int | None]
    """By name; None: only a rate."""
    budget: Mapping[str, float]
    describe: Sequence[str]
    """Lines for the person."""
    facts: Mapping[str, Any] = {}
    """The same as JSON-able data, for `--json`."""
    problems: Sequence[Problem] = ()
    """All that is missing before it can run: keys, extras, weights, files."""
    unit: str = "item"
    """What users count, one of it: "cell", "prompt"."""


@runtime_checkable
class PreviewingSystem(Protocol):
    """A system whose files can be counted although they cannot run here."""

    def preview(self, document: Document, **options: Any) -> Preview:
        """Starts, spends and writes nothing. `BadSpec` for a file that cannot be counted."""


class Assumed(msgspec.Struct, frozen=True):
    """What a simulation takes for true about the other side."""

    latency: Mapping[str, str] = {}
    """By model, provider or `all`: `2s`, `lognormal:2s:0.5`."""
    learned: Sequence[AttemptRecord] = ()
    """The attempts of an earlier run."""
    learned_from: str = ""
    """That run's id."""


@runtime_checkable
class SimulatingSystem(Protocol):
    """A system whose files can be run in virtual time."""

    def simulate(self, document: Document, assumed: Assumed, **options: Any) -> End:
        """How long, how much, and what binds. Needs no key; asks and starts nothing. `BadSpec`."""


class Asking(msgspec.Struct, frozen=True):
    """How often an answerer asks at most: so many chains at once, each so many samples deep."""

    wide: int
    deep: int
    judges: Sequence[Spec | None] = ()
    """Who judges each sample; None: the model that is asked."""
    checked: bool = True
    """Whether a sample can fail; if not, each chain ends with its first."""

    @property
    def requests(self) -> int:
        """In all."""
        return self.wide * self.deep * (1 + len(self.judges))


Answerer = Callable[["Model", "Request"], Awaitable[dict[str, Any]]]
"""Answers a request: what it gives has `text` and `value`, and is JSON-able."""


@runtime_checkable
class AnsweringSystem(Protocol):
    """A system that other systems may ask, inside an item of theirs, for an answer."""

    def answerer(self, where: Where) -> Answerer:
        """As the mapping at that place in a document says. `BadSpec`."""

    def asking(self, where: Where, *, schema: bool) -> Asking:
        """The most that this answerer asks. It connects to nothing.

        `schema`: whether the request has one, which a sample may fail to match.
        """
