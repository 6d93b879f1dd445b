"""From values to places in a drawing, and where its ticks are. Pure arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

Tick = tuple[float, str]
"""Where it is, from 0 to 1, and what it says."""


class Scale(Protocol):
    """Places values of a range between 0 and 1."""

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high one; never outside."""

    def ticks(self, count: int = 5) -> list[Tick]:
        """About that many, at round values."""


class Linear(msgspec.Struct, frozen=True):
    """Equal steps are equally far apart."""

    low: float
    high: float

    def place(self, value: float) -> float:
        return _within((value - self.low) / (self.high - self.low))

    def ticks(self, count: int = 5) -> list[Tick]:
        """At multiples of 1, 2 or 5 of a power of ten."""
        step = round_step((self.high - self.low) / count)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        digits = max(0, -math.floor(math.log10(step)))
        return [
            (self.place(number * step), f"{number * step:,.{digits}f}")
            for number in range(first, last + 1)
        ]


class Log(msgspec.Struct, frozen=True):
    """Equal ratios are equally far apart; both ends are above 0."""

    low: float
    high: float

    def place(self, value: float) -> float:
        if value <= 0:
            return 0.0
        return _within(math.log(value / self.low) / math.log(self.high / self.low))

    def ticks(self, count: int = 5) -> list[Tick]:
        """At powers of ten, and at 2 and 5 times these where there is room."""
        exponents = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for factors in ((1, 2, 5), (1, 3), (1,)):
            values = [factor * 10.0**exponent for exponent in exponents for factor in factors]
            inside = [value for value in values if self.low * 0.999 <= value <= self.high * 1.001]
            if len(inside) <= count + 1:
                break
        return [(self.place(value), f"{value:,.10f}".rstrip("0").rstrip(".")) for value in inside]


def spanning(values: Iterable[float], *, at_least: Sequence[float] = ()) -> Linear:
    """A linear scale over all of them, with some width."""
    every = [*values, *at_least]
    low, high = (min(every), max(every)) if every else (0.0, 1.0)
    return Linear(low, high) if high > low else Linear(low - 0.5, high + 0.5)


def spanning_log(values: Iterable[float]) -> Log:
    """A logarithmic scale over all that are above 0, with some room at both ends."""
    every = [value for value in values if value > 0]
    low, high = (min(every), max(every)) if every else (0.1, 1.0)
    return Log(low / 1.15, high * 1.15)


def round_step(step: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))


def _within(share: float) -> float:
    return min(1.0, max(0.0, share))
