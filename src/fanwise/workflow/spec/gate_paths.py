"""Which gate a path means: `ok`, `loop:ok:2`, `each:ok:0`, `each:whole:3:ok`, `sub:ok`.

A path is not known before a run has been there, for items and iterations have numbers in it. But
its shape is: this follows the steps of the file along the path, as a run names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fanwise.workflow.spec.steps import FanOutStep, GateStep, LoopStep, Step, WorkflowStep
from fanwise.workflow.spec.workflow_file import LoadedWorkflow

Named = tuple[int, bool]
"""How steps are named somewhere: after so many parts of the path, and whether with a number."""


def gates_at(workflow: LoadedWorkflow, path: str) -> list[GateStep]:
    """The gates that may be at that path: none if no run could come there."""
    return [*_Following(path.split(":")).all(workflow.steps, {(0, False)})]


class _Following:
    def __init__(self, parts: list[str]) -> None:
        self._parts = parts

    def all(self, steps: Iterable[Step], named: set[Named]) -> Iterator[GateStep]:
        if named:
            for step in steps:
                ends = {end for each in named if (end := self._end(step.id, each)) is not None}
                yield from self._one(step, ends, named)

    def _one(self, step: Step, ends: set[int], named: set[Named]) -> Iterator[GateStep]:
        if isinstance(step, GateStep) and len(self._parts) in ends:
            yield step
        if isinstance(step, WorkflowStep):
            yield from self.all(step.target.steps, {(end, False) for end in ends})
        if isinstance(step, LoopStep):
            named = named | {(end, True) for end in ends}
        for _, inner in step.inside():
            if isinstance(step, FanOutStep) and inner is step.step:
                yield from self._item(inner, ends)
            else:
                yield from self.all([inner], named)

    def _item(self, template: Step, ends: set[int]) -> Iterator[GateStep]:
        found = (self._end(template.id, (end, True)) for end in ends)
        items = {end for end in found if end is not None}
        yield from self._one(template, items, {(end, False) for end in items})

    def _end(self, step_id: str, named: Named) -> int | None:
        """Where the path goes on behind this step; None if it does not lead there."""
        begin, numbered = named
        here = self._parts[begin : begin + 1 + numbered]
        if len(here) <= numbered or here[0] != step_id:
            return None
        return None if numbered and not here[1].isdecimal() else begin + len(here)
