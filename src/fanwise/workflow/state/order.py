"""The order of the steps in a file: which of them come at or after the one that is named.

`--from STEP` runs again what stands there and behind it. In a loop all that a later iteration does
comes after everything of the first. What is in another file stands where that is included. What is
done on a failure of a step comes after all that is in the step, wherever it is written.
"""

from __future__ import annotations

from collections.abc import Iterable

from fanwise.workflow.spec.steps import Step, WorkflowStep

ON_FAILURE = "on_failure"


class Order:
    """Numbers for the steps of a file, in the order in which they are written."""

    def __init__(self, steps: Iterable[Step]) -> None:
        # By identity: the ids of templates need not be unique.
        self._number: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._by_id: dict[str, int] = {}
        self._add(steps)

    def _add(self, steps: Iterable[Step], file: str = "") -> None:
        for step in steps:
            number = len(self._number)
            self._number[id(step)] = number
            self._by_id.setdefault(f"{file}{step.id}", number)
            if isinstance(step, WorkflowStep):
                self._add(step.target.steps, f"{file}{step.id}:")
            inside = [*step.inside()]
            self._add((inner for place, inner in inside if place[0] != ON_FAILURE), file)
            self._last[id(step)] = len(self._number) - 1
            self._add((inner for place, inner in inside if place[0] == ON_FAILURE), file)

    def of(self, step: Step) -> int:
        return self._number[id(step)]

    def last_inside(self, step: Step) -> int:
        """The place of the last step inside it, those on its failure aside."""
        return self._last[id(step)]

    def named(self, step_id: str) -> int | None:
        """The place of the step with this id; of one in another file: `sub:test`."""
        return self._by_id.get(step_id)
