"""When to stop measuring. PURE.

Who looks again and again, and stops when he likes what he sees, is wrong more often than each look
says. So there are few looks, at 8, 12, 18, 27 … pairs, and what may go wrong is shared out among
all that could ever come: look k has 1 part in k(k + 1) of it, which adds up to one. Whatever the
looks have to do with one another, the sum is not passed. That the number of pairs is not known
beforehand (a time budget ends it) does not matter.

Of what may go wrong, a fifth is for the lower end: to accept what is no gain is worse than to
reject what is one. With a confidence of 0.95 that is 1 in 100, however noisy the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from fanwise.optimize.benchmark.statistics import Interval, interval

FIRST = 8
GROWTH = 1.5
LOWER_SHARE = 0.2

Decision = Literal["accept", "reject", "undecided"]


class Accept(msgspec.Struct, frozen=True, kw_only=True):
    """Accept if the lower end of the interval is at least `speedup`."""

    speedup: float = 1.05
    confidence: float = 0.95


class Looks:
    """The pairs of one comparison, looked at when it is time."""

    def __init__(self, accept: Accept) -> None:
        self._accept = accept
        self._made = 0
        self._next = FIRST
        self._seen: Interval | None = None

    @property
    def next_at(self) -> int:
        """With how many pairs the next look is."""
        return self._next

    def look(self, ratios: Sequence[float]) -> Decision:
        """Look, if it is time. `undecided`: go on."""
        if len(ratios) < self._next:
            return "undecided"
        while self._next <= len(ratios):
            self._next = int(self._next * GROWTH)
        return self._look(ratios)

    def last(self, ratios: Sequence[float]) -> Decision:
        """Look once more: no more pairs come."""
        return self._look(ratios)

    def interval(self, ratios: Sequence[float]) -> Interval:
        """As it was seen at the last look; before that, with all that the first one may err."""
        return self._seen or interval(ratios, *self._errors(1))

    def _look(self, ratios: Sequence[float]) -> Decision:
        self._made += 1
        seen = self._seen = interval(ratios, *self._errors(self._made))
        if seen.low >= self._accept.speedup:
            return "accept"
        return "reject" if seen.high < self._accept.speedup else "undecided"

    def _errors(self, number: int) -> tuple[float, float]:
        error = (1 - self._accept.confidence) / (number * (number + 1))
        return error * LOWER_SHARE, error * (1 - LOWER_SHARE)
