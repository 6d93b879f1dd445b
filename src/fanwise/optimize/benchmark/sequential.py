"""When to stop measuring. PURE.

Looking at the data repeatedly and stopping when it looks good is wrong more often than each look
admits. So there are few looks, at 8, 12, 18, 27 … pairs, and the error is divided among all looks
that could ever happen: look k gets 1/(k(k + 1)) of it, which adds up to one. This bound holds
however the looks depend on each other, and whenever the time budget ends the measurement. At 3 and
at 5 pairs only what is overwhelming in every one of them decides, for or against.

A fifth of the error goes to the lower end, because accepting a candidate that gains nothing is
worse than rejecting one that does. With a confidence of 0.95 that is 1 in 100, on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from fanwise.optimize.benchmark.size_class import SizeClass
from fanwise.optimize.benchmark.statistics import Interval, interval, median


class Speed(msgspec.Struct, frozen=True, kw_only=True):
    """A ratio with its interval: 2.0 is twice as fast. JSON-able."""

    ratio: float
    low: float
    high: float
    decision: Literal["accept", "reject", "undecided"]
    reason: str
    rounds: int
    """Pairs of measurements."""
    baseline_s: float
    """The median of the original."""
    candidate_s: float
    spent_s: float
    classes: tuple[SizeClass, ...] = ()
    """The same for calls of one size each; empty if all are of one."""


FIRST = 8
EARLY = (3, 5)
"""Pairs at which only what is overwhelming decides."""
OVERWHELMING = 2.0
"""Beyond what is asked for by this factor, in every pair: noise does not do that three times."""
GROWTH = 1.5
LOWER_SHARE = 0.2

Decision = Literal["accept", "reject", "undecided"]


class Accept(msgspec.Struct, frozen=True, kw_only=True):
    """Accept if the lower end of the interval is at least `speedup`."""

    speedup: float = 1.05
    confidence: float = 0.95
    allow_slower: bool = False
    """Accept even if calls of some size become slower."""
    allow_repeated: bool = False
    """Accept even if only repeated calls were measured."""


class Looks:
    """The pairs of one comparison, looked at when it is time."""

    def __init__(self, accept: Accept) -> None:
        self._accept = accept
        self._made = 0
        self._next = EARLY[0]
        self._seen: Interval | None = None

    @property
    def next_at(self) -> int:
        """The number of pairs at which to look next."""
        return self._next

    def can_decide(self, pairs: int) -> bool:
        """Whether so many pairs in all would be looked at once more, with a chance to decide."""
        return pairs >= min(self._next, FIRST)

    def look(self, ratios: Sequence[float]) -> Decision:
        """Look, if it is time; `undecided` means go on."""
        if len(ratios) < self._next:
            return "undecided"
        if len(ratios) < FIRST:
            self._next = next((each for each in EARLY if each > len(ratios)), FIRST)
            return self._early(ratios)
        while self._next <= len(ratios):
            self._next = int(self._next * GROWTH)
        return self._look(ratios)

    def passes(self, ratios: Sequence[float]) -> bool:
        """Whether other ratios of the same pairs would be accepted by themselves, at this look."""
        if len(ratios) < FIRST:
            return min(ratios) >= OVERWHELMING * self._accept.speedup
        errors = self._errors(max(1, self._made))
        return interval(ratios, *errors).low >= self._accept.speedup

    def parts(self, series: Sequence[Sequence[float]]) -> list[Interval]:
        """The intervals of parts of the same pairs, at this look; together they err as one does."""
        if series and len(series[0]) < FIRST:
            return [Interval(median(each), min(each), max(each)) for each in series]
        errors = [each / len(series) for each in self._errors(max(1, self._made))] if series else []
        return [interval(each, *errors) for each in series]

    def _early(self, ratios: Sequence[float]) -> Decision:
        """Few pairs have no interval; their ends are the least and the greatest of them."""
        found = Interval(median(ratios), min(ratios), max(ratios))
        if found.low >= OVERWHELMING * self._accept.speedup:
            self._seen = found
            return "accept"
        if found.high * OVERWHELMING <= self._accept.speedup:
            self._seen = found
            return "reject"
        return "undecided"

    def last(self, ratios: Sequence[float]) -> Decision:
        """Look a last time."""
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
