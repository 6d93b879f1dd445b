"""What calls came to, from attempts that are at hand; `read_call_totals.py` asks the database.

What nobody knows is counted, never taken for 0. Percentiles are values that occurred (nearest
rank), so that none is made up between two of them. No SQLAlchemy here: the command line's help
must not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

from fanwise.journal.port import AttemptRecord, CallTotals, Sum

SUMS = ("tokens", "input_tokens", "output_tokens", "cached_tokens", "usd")
PERCENTILES = (0.5, 0.95)


def total(attempts: Iterable[AttemptRecord]) -> CallTotals:
    """Of the attempts that are at hand, those of calls."""
    calls = [attempt for attempt in attempts if attempt.call is not None]
    first = sorted(each.first_token_s for each in calls if each.first_token_s is not None)
    median, high = (first[place(part, len(first))] if first else None for part in PERCENTILES)
    sums = {name: _sum([getattr(each, name) for each in calls]) for name in SUMS}
    failed = sum(each.error is not None for each in calls)
    return CallTotals(
        attempts=len(calls), failed=failed, first_token_p50=median, first_token_p95=high, **sums
    )


def _sum(values: list[float | None]) -> Sum:
    known = [value for value in values if value is not None]
    return Sum(sum(known), len(values) - len(known))


def place(part: float, number: int) -> int:
    """Where in a sorted list of so many the value stands that this part of them does not pass."""
    return ceil(part * number) - 1
