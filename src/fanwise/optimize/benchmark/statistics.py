"""The median of paired ratios, with its interval. PURE, and without chance.

A pair is the original and the candidate, measured one after the other; its ratio is that of their
two medians. What is reported is the median of these ratios: one pair that the machine disturbed
moves it by one place.

The interval is that of the percentile bootstrap. For a median it need not be drawn: the bootstrap
median is at most the k-th value if at least half of n draws are, and their number is binomial. So
its ends are two of the ratios themselves, and their places depend on n and the error alone.

With few pairs the bootstrap is too sure of itself: of six, the least is below the true median in
63 of 64 cases, not in 999 of 1,000. So its ends are never nearer than those of the sign test,
which needs no more than that pairs are independent and as often too high as too low. The second is
our own doing: which side goes first is drawn, so noise of whatever kind comes upon both alike.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache

import msgspec


class Interval(msgspec.Struct, frozen=True):
    """A median between two ends. Without enough pairs an end is 0 or infinite: nothing is known."""

    ratio: float
    low: float
    high: float


def interval(ratios: Sequence[float], low_error: float, high_error: float) -> Interval:
    """The median ratio; each end is wrong in at most that share of all cases."""
    ordered = sorted(ratios)
    n = len(ordered)
    below, above = place(n, low_error), place(n, high_error)
    return Interval(
        ratio=median(ordered),
        low=ordered[below - 1] if below else 0.0,
        high=ordered[n - above] if above else math.inf,
    )


def median(values: Sequence[float]) -> float:
    """The middle one; of an even number the geometric middle of two, for these are ratios."""
    ordered = sorted(values)
    n = len(ordered)
    low, high = ordered[(n - 1) // 2], ordered[n // 2]
    return low if low == high else math.sqrt(low * high)


@lru_cache(maxsize=4096)
def place(n: int, error: float) -> int:
    """Which of n ordered values, from outside, is the end of an interval; 0: none is far enough."""
    # Both rise with the place, so that a few looks find it among thousands of pairs.
    return bisect_left(
        range((n + 1) // 2), True, key=lambda k: max(_sign(n, k), _bootstrap(n, k)) > error
    )


def _sign(n: int, k: int) -> float:
    """How often more than n - k - 1 of n values are on one side of the true median."""
    return float(sum(math.comb(n, i) for i in range(k + 1)) / 2**n)


def _bootstrap(n: int, k: int) -> float:
    """How often the median of a resample is among the k outermost of n values."""
    share, half = k / n, (n + 1) // 2
    if not 0 < share < 1:
        return share
    # By logarithms: of a thousand pairs a binomial coefficient is more than a float holds.
    ins, outs, every = math.log(share), math.log1p(-share), math.lgamma(n + 1)
    return sum(
        math.exp(every - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * ins + (n - i) * outs)
        for i in range(half, n + 1)
    )
