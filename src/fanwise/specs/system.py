"""What a system is: the whole contract between `fanwise run` and a kind of file.

A system is an object with a `name`. A file belongs to it if that name is one of the file's
top-level keys; the runs that it makes are of that kind. To add one, say in the `pyproject.toml` of
a package:

    [project.entry-points."fanwise.systems"]
    poll = "my_package.poll:SYSTEM"

Rules: `plan` checks the file completely, and starts, spends and writes nothing, for `fanwise check`
calls it too. All that is wrong is a `BadSpec` (see `fanwise.specs.check`). `execute` does its work
in fan-outs of `run`, with stable names and keys, so that a resume finds their outcomes; it makes no
task, thread or lock of its own. When the run is halted or cancelled from outside, its fan-outs
return early: then `execute` returns what it has. Neither prints anything. A system may also have
`tell` (see `Tell`), so that `fanwise show` can say what came of each item.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

if TYPE_CHECKING:
    from fanwise.core.budget import Budget
    from fanwise.core.caps import Caps
    from fanwise.kernel.run import Run
    from fanwise.models.port import Model, Request
    from fanwise.specs.document import Document, Where


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
    """0 done, 1 some failed, 3 paused. 130 is given by fanwise itself, when it was interrupted."""


class Tell(Protocol):
    """A system may have a method `tell`: what came of an item of a top-level fan-out."""

    def __call__(self, key: str, value: Any, *, fully: bool) -> Sequence[str]:
        """Its value as lines for `fanwise show`: one, or if `fully`, all that there is."""


class Plan(Protocol):
    """A file that can be run, or a run that can be resumed."""

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
        """How many items its top-level fan-outs will have, if that is known."""

    def describe(self) -> Sequence[str]:
        """What would run, for `fanwise check`: a few lines."""

    async def execute(self, run: Run) -> End:
        """Do it, or go on with it: `run` knows what was done before."""


class System(Protocol):
    """A kind of file, and of runs."""

    @property
    def name(self) -> str:
        """The top-level key of its files, and the kind of its runs."""

    def plan(self, document: Document) -> Plan:
        """A file, checked completely. `BadSpec`."""

    def again(self, spec: Any) -> Plan:
        """What the journal kept of a plan: `Plan.spec`. The file may have changed or be gone."""


Answerer = Callable[["Model", "Request"], Awaitable[dict[str, Any]]]
"""Answers a request: what it gives has `text` and `value`, and is JSON-able."""


@runtime_checkable
class AnsweringSystem(Protocol):
    """A system that other systems may ask, inside an item of theirs, for an answer."""

    def answerer(self, where: Where) -> Answerer:
        """As the mapping at that place in a document says. `BadSpec`."""
