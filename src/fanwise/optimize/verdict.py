"""The verdict on a candidate, and which verdict wins.

The lower end of the interval decides: a lucky measurement has a high ratio and a wide interval.
Lower ends that agree in three digits are a tie, since the rest is noise. Then the smaller change
wins, because it is easier to review, and then the one that came first, so that every look at a run
finds the same winner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from fanwise.optimize.benchmark.sequential import Speed
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.checking.static_checks import Finding
from fanwise.optimize.differential.compare import Difference

ORIGINAL = "original"
"""In `same_as`: the candidate changes nothing that matters."""


class CandidateVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """JSON-able: the journal keeps it, and the report is made from it."""

    candidate: Candidate
    status: Literal["accepted", "rejected", "undecided", "same"]
    """`same`: equal to another one, or to the original."""
    stage: Literal["apply", "compile", "test", "differential", "benchmark"]
    """The last stage that it reached."""
    reason: str
    same_as: str | None = None
    """The key of the equal candidate, or `ORIGINAL`."""
    findings: tuple[Finding, ...] = ()
    difference: Difference | None = None
    speed: Speed | None = None
    diff_lines: int = 0
    patch: str = ""
    """As it was placed, against the commit that all started from."""
    seconds: Mapping[str, float] = {}
    """By stage."""


DIGITS = 3
"""Of a lower bound; two that agree in these are a tie: 1.523 and 1.518 are both 1.52."""


def winner(verdicts: Iterable[CandidateVerdict]) -> CandidateVerdict | None:
    """The accepted one that wins; None if none was. The order is that of the items."""
    return next(iter(ranking(verdicts)), None)


def ranking(verdicts: Iterable[CandidateVerdict]) -> list[CandidateVerdict]:
    """The accepted ones, the winner first. Nothing wins that was not measured."""
    return sorted(filter(_is_proven, verdicts), key=_place)


def lower_bound(verdict: CandidateVerdict) -> float:
    """The lower end of its speed-up, rounded to the digits that count."""
    assert verdict.speed is not None
    return float(f"{verdict.speed.low:.{DIGITS}g}")


def _is_proven(verdict: CandidateVerdict) -> bool:
    speed = verdict.speed
    return verdict.status == "accepted" and speed is not None and speed.low == speed.low  # no NaN


def _place(verdict: CandidateVerdict) -> tuple[float, int]:
    return -lower_bound(verdict), verdict.diff_lines
