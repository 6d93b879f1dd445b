"""What the calls of a run came to, in one pass that the database makes: they may be a million."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select

from fanwise.journal import schema
from fanwise.journal.call_totals import PERCENTILES, SUMS, place
from fanwise.journal.port import CallTotals, Sum


def read_total(connection: Connection, run_id: str) -> CallTotals:
    """Of all calls of a run that are on disk."""
    table = schema.attempts.c
    known = [table[name] for name in SUMS]
    columns = [func.count(), func.count(table.error), func.count(table.first_token_s)]
    columns += [func.count(column) for column in known]
    sums = [func.coalesce(func.sum(column), 0) for column in known]
    attempts, failed, told, *rest = connection.execute(_of_calls(run_id, *columns, *sums)).one()
    found = zip(SUMS, rest[: len(SUMS)], rest[len(SUMS) :], strict=True)
    totals = {name: Sum(amount, attempts - count) for name, count, amount in found}
    median, high = (_first_token(connection, run_id, told, part) for part in PERCENTILES)
    return CallTotals(
        attempts=attempts, failed=failed, first_token_p50=median, first_token_p95=high, **totals
    )


def _first_token(connection: Connection, run_id: str, told: int, part: float) -> float | None:
    column = schema.attempts.c.first_token_s
    query = _of_calls(run_id, column).where(column.is_not(None)).order_by(column)
    found = connection.execute(query.offset(max(0, place(part, told))).limit(1)).scalar()
    return None if found is None else float(found)


def _of_calls(run_id: str, *columns: ColumnElement[Any]) -> Select[Any]:
    table, fan_outs = schema.attempts, schema.fan_outs
    return (
        select(*columns)
        .join_from(fan_outs, table, fan_outs.c.id == table.c.fan_out)
        .where(fan_outs.c.run_id == run_id, table.c.call.is_not(None))
    )
