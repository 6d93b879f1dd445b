"""A run's progress, in the unit that its user counts.

Items are an internal unit: one cell of a matrix is an item for each step and each score, but users
ask for cells. A run that did fewer of them than it was asked is halted, never done, and says why.
"""

from __future__ import annotations

import msgspec

COUNTED = "counted"
"""The kind of event that records a run's counts; the last one is valid."""


class Counts(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many were asked for, and how many of these are done or failed."""

    unit: str
    """What is counted, in the singular: "line", "cell"."""
    done: int
    failed: int
    total: int | None
    """None: unknown, because the input was not read to its end."""
    halted: str = ""
    """Why the rest was not done, if the run itself stopped."""
    go_on: str = ""
    """How to get the rest; empty: resume the run."""
    enough: bool = False
    """Whether the rest was no longer needed."""

    @property
    def missing(self) -> int | None:
        """How many are neither done nor failed; None: unknown."""
        return None if self.total is None else max(0, self.total - self.done - self.failed)

    @property
    def short(self) -> str:
        """Why the run did less than it was asked; empty: it did everything."""
        if self.halted or self.enough:
            return self.halted
        missing = self.missing
        return "" if not missing else f"{missing:,} of {many(self.total or 0, self.unit)} not done"


def many(number: int, unit: str) -> str:
    """`1 line`, `98 lines`."""
    return f"{number:,} {unit}{'' if number == 1 else 's'}"
