"""The queries of a journal, as text.

Reads use the driver directly: importing SQLAlchemy takes longer than all of `fanwise runs` may
take, and building a query with it costs more than running a small one. The tables and migrations
use SQLAlchemy (`schema.py`), and a test checks every query here against them. The columns of a
record come from its fields, so the two cannot drift apart.

All queries are here, except those that write batches (`statements.py`). Use SQL that PostgreSQL
accepts too, with `?` for each parameter.
"""

from __future__ import annotations

from fanwise.core import lag
from fanwise.journal.call_totals import SUMS
from fanwise.journal.port import (
    AttemptRecord,
    EventRecord,
    FanOutRecord,
    InputRecord,
    ItemRecord,
    RunRecord,
)

RUN_COLUMNS = RunRecord.__struct_fields__


def _columns(record: type, table: str = "", **renamed: str) -> str:
    """The columns of a record, in the order of its fields."""
    fields: tuple[str, ...] = record.__struct_fields__  # type: ignore[attr-defined]
    return ", ".join(table + renamed.get(field, field) for field in fields)


VERSION = "SELECT version_num FROM alembic_version"

RUNS = f"SELECT {_columns(RunRecord)} FROM runs ORDER BY number DESC"
RUNS_WITHOUT_SPECS = RUNS.replace(" spec,", " '' AS spec,")
RUN = f"SELECT {_columns(RunRecord)} FROM runs WHERE id = ?"
RUN_NUMBER = "SELECT number FROM runs WHERE id = ?"
RUN_IDS = "SELECT id FROM runs"
CREATE_RUN = f"""INSERT INTO runs ({", ".join(name for name in RUN_COLUMNS if name != "number")})
    VALUES ({", ".join("?" for name in RUN_COLUMNS if name != "number")})"""
CLAIM_RUN = """UPDATE runs SET status = 'running', spec = ?, digest = ?, owner = ?,
    ended_at = NULL, error = NULL, cancel_requested = ?, caps_asked = NULL WHERE id = ?"""
REQUEST_CANCEL = "UPDATE runs SET cancel_requested = ? WHERE id = ?"
REQUEST_CAPS = "UPDATE runs SET caps_asked = ? WHERE id = ?"
REQUESTS = """SELECT id, cancel_requested, caps_asked FROM runs
    WHERE cancel_requested OR caps_asked IS NOT NULL"""

FAN_OUTS = f"SELECT {_columns(FanOutRecord)} FROM fan_outs WHERE run_id = ? ORDER BY seq"
EVENTS = f"""SELECT {_columns(EventRecord)} FROM events
    WHERE run_id = ? AND (? IS NULL OR kind = ?) ORDER BY seq"""
INPUT_COUNT = "SELECT count(*) FROM inputs WHERE run_id = ?"
INPUTS = f"""SELECT {_columns(InputRecord, index="input_index")} FROM inputs
    WHERE run_id = ? AND input_index >= ? ORDER BY input_index"""

STATUSES = "SELECT key, status FROM items WHERE fan_out = ? ORDER BY item_index, key"
COUNTS = "SELECT status, count(*) FROM items WHERE fan_out = ? GROUP BY status"


def items(keys: int | None = None) -> str:
    """The items of a fan-out in item order: all, or those with one of `keys` keys."""
    return f"""SELECT {_columns(ItemRecord, index="item_index")} FROM items
        WHERE fan_out = ? {_key_in("key", keys)} ORDER BY item_index, key"""


ITEMS_PAGE = f"""SELECT {_columns(ItemRecord, index="item_index", value="substr(value, 1, 400)")}
    FROM items WHERE fan_out = ? AND (item_index > ? OR item_index = ? AND key > ?)
    AND (? = '' OR status = ?) AND (? = '' OR lower(key) LIKE ? ESCAPE '!'
        OR lower(value) LIKE ? ESCAPE '!' OR lower(error) LIKE ? ESCAPE '!')
    AND ran_s >= ? ORDER BY item_index, key LIMIT ?"""


def attempts(keys: int | None = None) -> str:
    """The attempts of a fan-out by item and number: all, or those with one of `keys` keys."""
    return f"""SELECT {_columns(AttemptRecord, "a.")} FROM attempts a
        LEFT JOIN items i ON i.fan_out = a.fan_out AND i.key = a.key
        WHERE a.fan_out = ? {_key_in("a.key", keys)}
        ORDER BY i.item_index IS NOT NULL, i.item_index, a.key, a.number"""


def _key_in(column: str, keys: int | None) -> str:
    if keys is None:
        return ""
    return f"AND {column} IN ({', '.join('?' * keys)})" if keys else "AND 1 = 0"


# A call of a function, and one that the cache answered, made no request.
_OF_CALLS = """FROM fan_outs f JOIN attempts a ON a.fan_out = f.id
    WHERE f.run_id = ? AND a.call IS NOT NULL AND coalesce(a.requests, 1) > 0"""
_LATE = f"a.lag_s > {lag.NOTABLE_S} AND a.lag_s > {lag.NOTABLE_SHARE} * a.ran_s"
CALL_TOTALS = f"""SELECT count(*), count(a.error), count(a.first_token_s),
    {", ".join(f"count(a.{name})" for name in SUMS)},
    {", ".join(f"coalesce(sum(a.{name}), 0)" for name in SUMS)},
    count(CASE WHEN {_LATE} THEN 1 END), coalesce(avg(CASE WHEN {_LATE} THEN a.lag_s END), 0.0),
    coalesce(max(CASE WHEN {_LATE} THEN a.in_flight END), 0)
    {_OF_CALLS}"""
FIRST_TOKEN = f"""SELECT a.first_token_s {_OF_CALLS} AND a.first_token_s IS NOT NULL
    ORDER BY a.first_token_s LIMIT 1 OFFSET ?"""

CALL_SPANS = """SELECT caps, started_at, started_at + ran_s, error FROM attempts
    WHERE fan_out IN (SELECT id FROM fan_outs WHERE run_id = ?)
    AND caps IS NOT NULL AND started_at + ran_s > ? ORDER BY started_at + ran_s DESC LIMIT ?"""
ITEM_SPANS = """SELECT started_at, ended_at, status = 'failed' FROM items
    WHERE fan_out = ? AND started_at IS NOT NULL AND (ended_at IS NULL OR ended_at > ?)
    ORDER BY ended_at IS NOT NULL, ended_at DESC LIMIT ?"""
