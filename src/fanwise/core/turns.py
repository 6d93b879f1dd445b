"""Whose turn it is at a cap of which some need the whole, and others a part.

Elsewhere whoever fits goes, so one that needs the whole of a cap would wait for as long as
smaller ones keep coming. An exclusive cap lets both sides take turns: when the turn is that of a
whole one, no part is let go any more, and it starts when those in flight have ended. Then it is
the turn of the parts.

A turn of the parts is four times the cap, not once. At each change of turns permits idle until
the longest in flight has ended; with four that is an eighth of the time at most where parts are
about equally long. The whole ones that wait at the end, when no parts are left, go one after the
other. Rejected: all parts that wait, for with a thousand of them that is a barrier.
"""

from __future__ import annotations

TURN = 4
"""How many times the cap is let go in parts between two that need the whole."""


class Turns:
    """Of one exclusive cap. The first turn is that of a whole one."""

    __slots__ = ("_parts", "whole")

    def __init__(self, whole: int) -> None:
        self.whole = whole
        """As many permits as there are."""
        self._parts = TURN * whole

    def took(self, units: int) -> None:
        self._parts = 0 if units == self.whole else self._parts + units

    def is_of(self, units: int) -> bool:
        """Whether it is the turn of those who need this many."""
        return (units == self.whole) == (self._parts >= TURN * self.whole)
