"""Totals of calls, from attempts in memory. `read_call_totals.py` computes the same in SQL.

Unknown amounts are counted, never taken for 0. Percentiles are values that occurred (nearest
rank), not interpolated ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

from fanwise.core.lag import is_notable
from fanwise.journal.port import AttemptRecord, CallTotals, Sum

SUMS = ("tokens", "input_tokens", "output_tokens", "cached_tokens", "usd")
PERCENTILES = (0.5, 0.95)


def total(attempts: Iterable[AttemptRecord]) -> CallTotals:
    """The totals of those attempts that are calls of a model."""
    calls = [attempt for attempt in attempts if attempt.asked_somebody]
    first = sorted(each.first_token_s for each in calls if each.first_token_s is not None)
    median, high = (first[place(part, len(first))] if first else None for part in PERCENTILES)
    sums = {name: _sum([getattr(each, name) for each in calls]) for name in SUMS}
    failed = sum(each.error is not None for each in calls)
    late = [each for each in calls if is_notable(each.lag_s or 0.0, each.ran_s)]
    lag_s = sum(each.lag_s or 0.0 for each in late) / len(late) if late else 0.0
    in_flight = max((each.in_flight or 0 for each in late), default=0)
    return CallTotals(
        attempts=len(calls), failed=failed, first_token_p50=median, first_token_p95=high,
        slowed=len(late), lag_s=lag_s, in_flight=in_flight, **sums,
    )  # fmt: skip


def _sum(values: list[float | None]) -> Sum:
    known = [value for value in values if value is not None]
    return Sum(sum(known), len(values) - len(known))


def place(part: float, number: int) -> int:
    """The index of a percentile in a sorted list of `number` values."""
    return ceil(part * number) - 1
