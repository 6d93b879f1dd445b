"""A step that holds others and was cut short by its time-out: what is recorded of that.

The leaves that were in flight have no outcome, so a resume could not tell that the steps had gone
on after them. Therefore the time-out itself is noted, with what could be seen of the step by then,
and with a digest of all that its steps were made of: with other values it is tried again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from fanwise.workflow.spec.references import walk
from fanwise.workflow.spec.steps import AgentStep, FanInStep, GateStep, Step
from fanwise.workflow.state.frame import Frame
from fanwise.workflow.state.order import ON_FAILURE
from fanwise.workflow.state.run_state import StepState
from fanwise.workflow.state.step_result import Moment, StepResult, digest_of

CUT = "timed out"
"""The kind of event that records a time-out."""
CUT_NO_MORE = "tried again"
"""The kind of event that says, before it is, of a step that was cut short that it is tried again.
Its data is the path."""


class CutShort(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is recorded of one time-out."""

    path: str
    error: str
    digest: str
    moment: Moment
    """The moment of the step, not of its last attempt."""
    settled: int
    """From this place of its moment on, no further attempt was to follow."""
    states: dict[str, StepState] = {}
    """The states of the steps inside it."""
    names: dict[str, str] = {}
    """The names of these steps in expressions, and their paths."""
    fan_in: dict[str, Any] | None = None

    @property
    def result(self) -> StepResult:
        return StepResult("failed", {"timed_out": True}, self.error, moment=self.moment)

    def counts(self, digest: str, since: Moment, absorbed: int) -> bool:
        """Whether the steps went on after it, and would be cut short in the same work."""
        return self.settled <= absorbed and self.digest == digest and self.moment >= since

    def show(self, frame: Frame) -> None:
        """Make the recorded states visible to later steps."""
        for name, path in self.names.items():
            state = self.states[path]
            seen = {"status": state.status, "output": state.output, "error": state.error}
            frame.steps[name] = {"id": path, **seen}
        frame.states.update(self.states)
        frame.steps.fan_in = self.fan_in


def cut_short(path: str, error: str, digest: str, frame: Frame, last: Frame) -> CutShort:
    """Record a time-out; `last` is the frame of the attempt that was running."""
    own = last.steps.maps[0].items()
    names = {name: seen["id"] for name, seen in own if seen["id"] in last.states}
    return CutShort(
        path, error, digest, frame.moment, frame.settled, last.states, names, last.steps.fan_in
    )  # fmt: skip


def digest_of_whole(step: Step, frame: Frame) -> str:
    """Of all values that the steps in it use, as they are before it."""
    roots = frame.roots()
    inside = [each for part in _parts(step) for each in walk(part)]
    used = {name for each in (step, *inside) for name in _names(each)}
    values = sorted((name, _seen(roots, name)) for name in used if name[0] != "context")
    home = frame.home
    agents = any(isinstance(each, AgentStep) for each in inside)
    who = [home.integration, home.model, home.options] if agents else []
    return digest_of([step.type, values, who])


def _parts(step: Step) -> Iterator[Step]:
    """The steps inside it, without those of `on_failure`."""
    return (inner for place, inner in step.inside() if place[0] != ON_FAILURE)


def _names(step: Step) -> Iterator[tuple[str, ...]]:
    for _, text in step.texts():
        yield from text.names()
    if isinstance(step, FanInStep):
        yield from (("steps", each) for each in step.wait_for)
    if isinstance(step, GateStep) and step.verdict_input is not None:
        yield ("inputs", step.verdict_input)


def _seen(roots: Mapping[str, Any], name: tuple[str, ...]) -> Any:
    value: Any = roots
    for part in name:
        if isinstance(value, list) and part.isdecimal():
            value = value[int(part)] if int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, Mapping) else None
    return dict(value) if isinstance(value, Mapping) else value
