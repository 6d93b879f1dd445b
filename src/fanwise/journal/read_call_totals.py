"""Totals of the calls of a run, computed in SQL: there may be a million."""

from __future__ import annotations

from fanwise.journal import queries
from fanwise.journal.call_totals import PERCENTILES, SUMS, place
from fanwise.journal.port import CallTotals, Sum
from fanwise.journal.runs import JournalConnection


def read_total(connection: JournalConnection, run_id: str) -> CallTotals:
    """The totals of all recorded calls of a run."""
    row = connection.execute(queries.CALL_TOTALS, (run_id,)).fetchone()
    attempts, failed, told, *rest, slowed, lag_s, in_flight = row
    found = zip(SUMS, rest[: len(SUMS)], rest[len(SUMS) :], strict=True)
    totals = {name: Sum(amount, attempts - count) for name, count, amount in found}
    median, high = (_first_token(connection, run_id, told, part) for part in PERCENTILES)
    return CallTotals(
        attempts=attempts, failed=failed, first_token_p50=median, first_token_p95=high,
        slowed=slowed, lag_s=float(lag_s), in_flight=in_flight, **totals,
    )  # fmt: skip


def _first_token(
    connection: JournalConnection, run_id: str, told: int, part: float
) -> float | None:
    at = max(0, place(part, told))
    row = connection.execute(queries.FIRST_TOKEN, (run_id, at)).fetchone()
    return None if row is None else float(row[0])
