"""The order of the steps in a file: which of them come at or after the one that is named.

`--from STEP` runs again what stands there and behind it. In a loop all that a later iteration does
comes after everything of the first.
"""

from __future__ import annotations

from collections.abc import Iterable

from fanwise.workflow.step_specs import Step


class Order:
    """Numbers for the steps of a file, in the order in which they are written."""

    def __init__(self, steps: Iterable[Step]) -> None:
        # By identity: the ids of templates need not be unique.
        self._number: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._by_id: dict[str, int] = {}
        self._add(steps)

    def _add(self, steps: Iterable[Step]) -> None:
        for step in steps:
            number = len(self._number)
            self._number[id(step)] = number
            self._by_id.setdefault(step.id, number)
            self._add(inner for _, inner in step.inside())
            self._last[id(step)] = len(self._number) - 1

    def of(self, step: Step) -> int:
        """The place of a step."""
        return self._number[id(step)]

    def last_inside(self, step: Step) -> int:
        """The place of the last step inside it."""
        return self._last[id(step)]

    def named(self, step_id: str) -> int | None:
        """The place of the step with this id."""
        return self._by_id.get(step_id)

    def is_named(self, step: Step, step_id: str | None) -> bool:
        """Whether it is the step of this file with this id, and not one of an included file."""
        number = None if step_id is None else self.named(step_id)
        return number is not None and self._number.get(id(step)) == number
