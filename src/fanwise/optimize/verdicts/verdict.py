"""What became of a candidate, with all that led to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from fanwise.optimize.benchmark.speed import Speed
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.checking.finding import Finding
from fanwise.optimize.differential.difference import Difference

ORIGINAL = "original"
"""In `same_as`: the candidate changes nothing that matters."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """JSON-able: the journal keeps it, and the report is made from it."""

    candidate: Candidate
    status: Literal["accepted", "rejected", "undecided", "same"]
    """`same`: equal to another one, or to the original."""
    stage: Literal["apply", "compile", "test", "differential", "benchmark"]
    """The last one that it came to."""
    reason: str
    same_as: str | None = None
    """The key of that other one, or `ORIGINAL`."""
    findings: tuple[Finding, ...] = ()
    difference: Difference | None = None
    speed: Speed | None = None
    diff_lines: int = 0
    patch: str = ""
    """As it was placed, against the commit that all started from."""
    seconds: Mapping[str, float] = {}
    """By stage."""
