"""Which candidate wins: the one that is surely the fastest, and not the one that may be.

The lower end of the interval decides. A lucky measurement has a high ratio and a wide interval;
its lower end is what it has shown. Ends that people read as the same number are a tie, for what
is behind the third digit is noise; then the smaller change wins, which is easier to review, and
then the one that came first, so that every look at a run finds the same one.
"""

from __future__ import annotations

from collections.abc import Iterable

from fanwise.optimize.verdicts.verdict import Verdict

DIGITS = 3
"""Of a lower bound; two that agree in these are a tie: 1.523 and 1.518 are both 1.52."""


def winner(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The accepted one that wins; None if none was. The order is that of the items."""
    return next(iter(ranking(verdicts)), None)


def ranking(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The accepted ones, the winner first. Nothing wins that was not measured."""
    return sorted(filter(_is_proven, verdicts), key=_place)


def lower_bound(verdict: Verdict) -> float:
    """What it is faster by at least, in as many digits as count."""
    assert verdict.speed is not None
    return float(f"{verdict.speed.low:.{DIGITS}g}")


def _is_proven(verdict: Verdict) -> bool:
    speed = verdict.speed
    return verdict.status == "accepted" and speed is not None and speed.low == speed.low  # no NaN


def _place(verdict: Verdict) -> tuple[float, int]:
    return -lower_bound(verdict), verdict.diff_lines
