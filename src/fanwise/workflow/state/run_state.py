"""What is known of the steps of a run, live and from its journal.

A run that executes puts a `StepState` into its frame for each step that ended. The journal has the
same: leaves are items, and of the steps around them (an if, a loop, a fan-out) the run noted how
they ended. Of a leaf that was started and has no end, the journal has only the key; the file says
what it is and where it stands.

This module is imported by `fanwise show`, so it imports nothing that runs a workflow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec.structs import replace

from fanwise.journal.call_totals import total
from fanwise.journal.codec import JSON, decode_error
from fanwise.journal.port import AttemptRecord, CallTotals, ItemRecord, Journal, RunRecord
from fanwise.view.run_summary import shown_status
from fanwise.workflow.spec.outline import Outline
from fanwise.workflow.state.step_result import record_of

HOLDS = ("if", "switch", "while", "do-while", "fan-out", "workflow")
"""The types of steps that only hold others."""
STEP = "step"
"""The kind of event that holds the `StepState` of a step that is no item."""


class StepState(msgspec.Struct, frozen=True, omit_defaults=True):
    """A step at one path: how it ended, or how far it is."""

    path: str = ""
    type: str = ""
    status: str = "pending"
    output: dict[str, Any] = {}
    """In the journal only that of leaves: what is around them repeats it."""
    error: str | None = None
    inside: str = ""
    """The path of the step around it; empty: the workflow."""
    began: float | None = msgspec.field(default=None, name="at")
    ended: float | None = None
    input: Any = None
    """What it was given, cut where it is long; only in the journal, and of leaves."""

    @property
    def took(self) -> float | None:
        """Seconds, once it has ended."""
        if self.began is None or self.ended is None or self.status == "pending":
            return None
        return self.ended - self.began

    def to_json(self) -> dict[str, Any]:
        """With spec-kit's keys."""
        return {name: getattr(self, name) for name in ("type", "status", "output", "error")}


class WorkflowState(msgspec.Struct, frozen=True, dict=True):
    """The steps of a run by path, and the ids of its top-level steps in the order of the file."""

    steps: Mapping[str, StepState]
    top: Sequence[str]

    @cached_property
    def inside(self) -> Mapping[str, list[StepState]]:
        """The steps directly inside each path: by item or iteration, then as they began."""
        order = {step: number for number, step in enumerate(self.top)}
        found: dict[str, list[StepState]] = {}
        for step in self.steps.values():
            found.setdefault(step.inside, []).append(step)
        for children in found.values():
            children.sort(key=lambda each: (order.get(each.path, len(order)), *_turn(each)))
        return found

    @cached_property
    def leaves(self) -> list[StepState]:
        """The steps that do something themselves: of a map, its items."""
        maps = {path for path, inside in self.inside.items() if inside[0].type == "map"}
        found = (step for step in self.steps.values() if step.type not in HOLDS)
        return [step for step in found if step.path not in maps]


def _turn(step: StepState) -> tuple[int, float]:
    """The number of the item or iteration that a path ends in, and when the step began."""
    number = step.path.rpartition(":")[2]
    return int(number) if number.isdecimal() else 0, step.began or 0.0


def read_run(journal: Journal, run: RunRecord) -> WorkflowState:
    """The state of a run, as its journal has it now."""
    outline = Outline(JSON.decode(run.spec))
    steps: dict[str, StepState] = {}
    for event in journal.events(run.id, STEP):
        noted = replace(event.decode(StepState), ended=event.at)
        steps[noted.path] = noted
    for fan_out in journal.fan_outs(run.id):
        name = fan_out.path.rpartition("/")[2].replace("%2F", "/").replace("%25", "%")
        for item in journal.items(fan_out.id):
            # Others are of systems that ran inside a step.
            own = item.key == name or item.key.startswith(f"{name}:")
            if own and (item.status == "started" or not _is_skipped(steps.get(item.key))):
                steps[item.key] = _leaf(item, outline)
    unfinished = "running" if shown_status(run) == "running" else "interrupted"
    return WorkflowState(_completed(steps, outline, unfinished), outline.top)


def _is_skipped(noted: StepState | None) -> bool:
    return noted is not None and noted.status == "skipped"


def _leaf(item: ItemRecord, outline: Outline) -> StepState:
    record = None if item.value is None else record_of(JSON.decode(item.value))
    if record is not None:
        return StepState(
            item.key, record.type, record.status, record.output, record.error, record.inside,
            item.started_at, item.ended_at, record.input,
        )  # fmt: skip
    return StepState(
        item.key,
        outline.type(item.key),
        "running" if item.status == "started" else item.status,
        error=None if item.error is None else decode_error(item.error).text,
        inside=outline.around(item.key),
        began=item.started_at,
        ended=item.ended_at,
    )


def _completed(
    steps: dict[str, StepState], outline: Outline, unfinished: str
) -> dict[str, StepState]:
    """Add what the journal does not have: the steps around those in flight, and those to come."""
    found = dict(steps)
    for step in steps.values():
        if step.status == "running":
            step = found[step.path] = replace(step, status=unfinished)
        while step.inside and step.inside not in found:
            path = step.inside
            status = "cancelled" if step.status == "cancelled" else unfinished
            step = StepState(
                path, outline.type(path), status, inside=outline.around(path), began=step.began
            )
            found[path] = step
    for top in outline.top:
        found.setdefault(top, StepState(top, outline.type(top)))
    return found


def costs_of(journal: Journal, run_id: str) -> dict[str, CallTotals]:
    """Calls to models, by the path of a step; a system inside a step counts for its fan-out."""
    found: dict[str, list[AttemptRecord]] = {}
    for fan_out in journal.fan_outs(run_id):
        name, below, _ = fan_out.path.partition("/")
        for attempt in journal.attempts(fan_out.id):
            if attempt.asked_somebody:
                key = name if below else attempt.key
                found.setdefault(key.replace("%2F", "/").replace("%25", "%"), []).append(attempt)
    return {key: total(attempts) for key, attempts in found.items()}
