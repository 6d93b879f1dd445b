"""How far a run came, in the unit that its user counts.

A run's items are how the work is cut up inside: a cell of a matrix is an item for each step and
each score. People asked for cells. A run that did less of them than it was asked is halted, never
done, and says why.
"""

from __future__ import annotations

import msgspec

COUNTED = "counted"
"""The kind of the event that keeps a run's counts; the last one holds."""


class Counts(msgspec.Struct, frozen=True, omit_defaults=True):
    """So many are done, so many failed, of so many that were asked for."""

    unit: str
    """What is counted, one of it: "line", "cell"."""
    done: int
    failed: int
    total: int | None
    """None: unknown, since the input was not read to its end."""
    halted: str = ""
    """Why the rest was not done, where something in the run itself stopped it."""
    go_on: str = ""
    """What to do to get the rest; empty: resume the run."""
    enough: bool = False
    """The rest was not wanted any more."""

    @property
    def missing(self) -> int | None:
        """How many were not done and did not fail; None: unknown."""
        return None if self.total is None else max(0, self.total - self.done - self.failed)

    @property
    def short(self) -> str:
        """Why the run did less than it was asked; empty: it did not."""
        if self.halted or self.enough:
            return self.halted
        missing = self.missing
        return "" if not missing else f"{missing:,} of {many(self.total or 0, self.unit)} not done"


def many(number: int, unit: str) -> str:
    """`1 line`, `98 lines`."""
    return f"{number:,} {unit}{'' if number == 1 else 's'}"
