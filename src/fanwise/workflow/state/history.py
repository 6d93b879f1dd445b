"""What earlier executions of a run were given: inputs, answers, and where they began again.

Each execution notes what it was given, before it does anything. The notes are all that a resume
needs besides the recorded items: there is no state that is written over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fanwise.journal.port import EventRecord
from fanwise.kernel.run import Run
from fanwise.workflow.state.cut_short import CUT, CUT_NO_MORE, CutShort
from fanwise.workflow.state.run_state import STEP, StepState

EXECUTION = "workflow"
"""The kind of event that says what an execution was given."""
PAUSED = "paused"
"""The kind of event that says where a run paused: `at` which step, and at which `gate`."""
TWICE = "twice"
"""The kind of event that names a step that had been begun before, and is performed again."""


class ExecutionInputs(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one execution was given."""

    inputs: dict[str, Any] = {}
    """The inputs that changed."""
    answers: dict[str, str] = {}
    """Answers to gates, by path."""
    start: str | None = None
    """The id of the step from which on all runs again."""


class RunHistory:
    """All executions of a run, this one included."""

    def __init__(
        self,
        given: Iterable[ExecutionInputs] = (),
        noted: Iterable[str] = (),
        cuts: Mapping[str, CutShort] | None = None,
        twice: Iterable[str] = (),
        first: int = 0,
    ) -> None:
        self._given = dict(enumerate(given, first))
        """What each execution was given, by its number."""
        self.noted = set(noted)
        """Paths of the steps that the journal has notes on."""
        self.cuts = dict(cuts or {})
        """By path: the last time-out of a step that holds others."""
        self.twice = tuple(twice)
        """The paths of the steps that earlier executions may have run twice."""
        self.taken: set[str] = set()
        """The paths of the gates that took an answer in this execution."""

    @property
    def execution(self) -> int:
        """The number of this execution."""
        return max(self._given, default=-1)

    @property
    def inputs(self) -> Mapping[str, Any]:
        """The latest value of each changed input."""
        changed: dict[str, Any] = {}
        for given in self._given.values():
            changed |= given.inputs
        return changed

    @property
    def given_in(self) -> Mapping[str, int]:
        """The execution in which each changed input was last given."""
        return {name: n for n, each in self._given.items() for name in each.inputs}

    @property
    def answers(self) -> Mapping[str, tuple[str, int]]:
        """The last answer to each gate, and in which execution it was given."""
        return {
            path: (choice, number)
            for number, given in self._given.items()
            for path, choice in given.answers.items()
        }

    @property
    def starts(self) -> list[tuple[int, str]]:
        """Where executions began again: the number, and the id of the step."""
        return [(n, each.start) for n, each in self._given.items() if each.start is not None]


async def opened(run: Run, given: ExecutionInputs, first: int = 0) -> RunHistory:
    """The history of a run, with this execution noted in it. `first`: the number of its first."""
    events = () if run.journal is None else run.journal.events(run.id)
    before: list[ExecutionInputs] = []
    noted: set[str] = set()
    cuts: dict[str, CutShort] = {}
    twice: list[str] = []
    for event in events:
        if event.kind == EXECUTION:
            before.append(event.decode(ExecutionInputs))
        elif event.kind == STEP:
            noted.add(event.decode(StepState).path)
        elif event.kind == CUT:
            cut = event.decode(CutShort)
            cuts[cut.path] = cut
        elif event.kind == CUT_NO_MORE:
            cuts.pop(event.decode(str), None)
        elif event.kind == TWICE:
            twice.append(event.decode(str))
    await run.note_on_disk(EXECUTION, msgspec.to_builtins(given))
    return RunHistory([*before, given], noted, cuts, twice, first)


def paused_gate(events: Iterable[EventRecord]) -> str | None:
    """The path of the gate at which the run waits, if it does."""
    waiting = None
    for event in events:
        if event.kind == PAUSED:
            waiting = event.decode(dict[str, str | None]).get("gate")
        elif event.kind == EXECUTION:
            waiting = None
    return waiting
