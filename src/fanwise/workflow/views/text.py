"""What a workflow would do, and what an execution came to, as text and as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from fanwise.errors import UsageError
from fanwise.specs import End
from fanwise.workflow.expressions import Text, Value
from fanwise.workflow.spec.steps import Step, WorkflowStep
from fanwise.workflow.spec.workflow_file import LoadedWorkflow
from fanwise.workflow.state.run_state import StepState
from fanwise.workflow.state.step_result import StepResult

FAILED, PAUSED = 1, 3
FAILURES = ("failed", "aborted")
MOST = 10
"""Paths that are listed at most."""


class Ending(msgspec.Struct, frozen=True):
    """How an execution ended."""

    run_id: str
    workflow_id: str
    stop: StepResult | None
    """What stopped it, if anything did."""
    position: int
    """The place of the last top-level step that was begun."""
    steps: Mapping[str, StepState]
    """How each step ended, by its path."""
    gate: Mapping[str, Any] | None = None
    """The gate that waits for an answer."""
    interrupted: bool = False
    last: str | None = None
    """The last top-level step that was begun."""
    twice: Sequence[str] = ()
    """The paths of the steps that may have run twice: a process was killed while they ran."""
    notes: tuple[str, ...] = ()
    """Further remarks."""

    @property
    def status(self) -> str:
        """In spec-kit's words."""
        if self.interrupted:
            return "paused"
        return "completed" if self.stop is None else self.stop.status

    @property
    def states(self) -> dict[str, dict[str, Any]]:
        """How each step ended, as plain data."""
        return {path: step.to_json() for path, step in self.steps.items()}

    @property
    def failures(self) -> dict[str, str]:
        """The steps that failed, by path, and why."""
        return {
            path: step.error or step.status
            for path, step in self.steps.items()
            if step.status in FAILURES
        }

    @property
    def ok(self) -> bool:
        """Whether it ran to its end, or as far as was asked."""
        return not self.interrupted and self._exit_code() == 0

    @property
    def facts(self) -> dict[str, Any]:
        """With spec-kit's keys."""
        stop = self.stop
        failed = stop is not None and stop.status in ("failed", "aborted")
        return {
            "run_id": self.run_id,
            "workflow_id": self.workflow_id,
            "status": self.status,
            "current_step_id": self.last if stop is None else stop.at,
            "current_step_index": self.position,
            "gate": self.gate,
            "error": stop.error if stop is not None and failed else None,
        }

    def end(self, notes: Sequence[str]) -> End:
        """The result for the command line."""
        stop, told = self.stop, [*notes, *self.notes, *_twice(self.twice)]
        if stop is not None:
            told.append(_told(stop, self.gate))
        return End(
            {"steps": self.states, "may_have_run_twice": [*self.twice]},
            _lines(self.steps) if stop is None and not self.interrupted else (),
            told,
            self._exit_code(),
            facts=self.facts,
            status=None if stop is None else stop.status,
            resume_with=() if self.gate is None else _answer(self.gate),
            failures=[f"{path}: {why}" for path, why in self.failures.items()],
        )

    def _exit_code(self) -> int:
        if self.stop is None:
            return 0
        if self.stop.status == "paused":
            return PAUSED if self.gate is not None else 0
        return FAILED


def _told(stop: StepResult, gate: Mapping[str, Any] | None) -> str:
    if gate is not None:
        options = ", ".join(gate["options"])
        return f"{gate['step_id']} waits for an answer ({options}): {gate['message']}"
    return f"{stop.at}: {stop.error or stop.status}"


def _answer(gate: Mapping[str, Any]) -> list[str]:
    return ["--answer", f"{gate['step_id']}={gate['options'][0]}"]


def _twice(paths: Sequence[str]) -> list[str]:
    if not paths:
        return []
    were, they = ("was", "it") if len(paths) == 1 else ("were", "they")
    more = [f"  … and {len(paths) - MOST:,} more"] if len(paths) > MOST else []
    head = f"{len(paths):,} {were} cut off and started again, so {they} may have run twice:"
    return [head, *(f"  {path}" for path in paths[:MOST]), *more]


def _lines(steps: Mapping[str, StepState]) -> list[str]:
    """Each step in a line; those of items and iterations are in `fanwise show`."""
    return [f"{path}: {step.status}" for path, step in steps.items() if ":" not in path]


# -- before it runs --------------------------------------------------------------------------------

MOST_SHOWN = 100
"""Characters of a value that are shown."""


def dry_run_lines(workflow: LoadedWorkflow, inputs: Mapping[str, Any] | None) -> list[str]:
    """Lines, those inside a step indented. `inputs`: None if nobody has given any."""
    roots = {} if inputs is None else {"inputs": inputs}
    ends = _step_lines(workflow.on_end, {}, 0)
    return [*_step_lines(workflow.steps, roots, 0), *(f"on_end: {line}" for line in ends)]


def _step_lines(steps: Iterable[Step], roots: Mapping[str, Any], depth: int) -> Iterator[str]:
    for step in steps:
        yield f"{'  ' * depth}{step.id} ({step.type}){_fields(step, roots)}"
        if isinstance(step, WorkflowStep):
            yield from _step_lines(step.target.steps, {}, depth + 1)
        for place, inner in step.inside():
            shown = _branch(place)
            for line in _step_lines([inner], roots, depth + 1):
                yield f"{'  ' * (depth + 1)}{shown}{line.lstrip()}" if shown else line
                shown = ""


def _branch(place: tuple[str | int, ...]) -> str:
    """Which part of its step it stands in, at its first step: `else: `."""
    names = [str(part) for part in place[:-1]]
    return f"{'.'.join(names)}: " if place[-1] == 0 and names != ["steps"] else ""


def _fields(step: Step, roots: Mapping[str, Any]) -> str:
    told = [f"{'.'.join(map(str, place))}={_shown(text, roots)}" for place, text in step.texts()]
    return f": {'  '.join(told)}" if told else ""


def _shown(text: Text | Value, roots: Mapping[str, Any]) -> str:
    """The value if it is known, else the source."""
    value: Any = text.source
    if text.is_known(roots):
        try:
            value = text.render(roots)
        except UsageError as error:
            value = f"{text.source} ({error})"
    line = " ".join(str(value).split())
    return line if len(line) <= MOST_SHOWN else f"{line[:MOST_SHOWN]}…"
