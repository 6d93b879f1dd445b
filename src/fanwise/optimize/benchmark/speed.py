"""How fast a candidate is beside the original."""

from __future__ import annotations

from typing import Literal

import msgspec


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
