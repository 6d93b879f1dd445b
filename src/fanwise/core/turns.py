"""Whose turn it is at an exclusive cap, of which some tickets need all and others a part.

At other caps every ticket that fits goes, so one that needs the whole cap would wait as long as
smaller ones keep coming. At an exclusive cap the two kinds take turns. When it is the turn of a
ticket that needs all, no more parts are granted, and it starts when those in flight have ended.
Then it is the turn of the parts again.

A turn of the parts lasts for four times the cap. At each change of turns permits are idle until the
longest in flight has ended; with four times the cap that is at most an eighth of the time, if
parts take about equally long. Rejected: letting all waiting parts go, because a thousand of them
would keep the others waiting for too long.
"""

from __future__ import annotations

TURN = 4
"""How many times the cap is granted in parts between two tickets that need all of it."""


class Turns:
    """The turns at one exclusive cap. The first is that of a ticket that needs all."""

    __slots__ = ("_parts", "whole")

    def __init__(self, whole: int) -> None:
        self.whole = whole
        """The number of permits of the cap."""
        self._parts = TURN * whole

    def took(self, units: int) -> None:
        self._parts = 0 if units == self.whole else self._parts + units

    def is_of(self, units: int) -> bool:
        """Whether it is the turn of tickets that need this many."""
        return (units == self.whole) == (self._parts >= TURN * self.whole)
