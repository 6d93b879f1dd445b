"""The SQL of the hot path: statements that write many rows at once.

The obvious way is `executemany`, but Python's sqlite3 releases the GIL for each row and then has
to win it back from a busy event loop. Measured, that is the difference between a writer that keeps
up and one that starves. A statement with many rows of VALUES releases the GIL once.

The number of rows in a statement is a power of 2, at most `MOST_ROWS`, so a few statements are
compiled once and serve every batch. Parameters have neither numbers nor names: SQLite compares
each of those with all before it, so compiling a large statement took 40 ms, and Python's sqlite3
warns about numbered ones since 3.12. Where a row needs a field twice, the rows are a table of
their own (WITH) to select from.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, TypeVar

import msgspec

MOST_ROWS = 512 if sqlite3.sqlite_version_info >= (3, 32) else 64
"""Older SQLites take 999 parameters, newer ones 32,766."""

T = TypeVar("T")


class Statement(msgspec.Struct, frozen=True):
    """An INSERT of any number of rows."""

    before: str
    """Up to and including the word VALUES."""
    row: str
    """One row: `?` for each field, in order."""
    after: str = ""


ITEM_STARTED = Statement(
    before="INSERT INTO items (fan_out, key, item_index, started_at, status, starts) VALUES",
    row="(?, ?, ?, ?, 'started', 1)",
    after="""ON CONFLICT (fan_out, key) DO UPDATE SET
        starts = CASE items.status WHEN 'started' THEN items.starts + 1 ELSE 1 END,
        status = 'started', item_index = excluded.item_index,
        started_at = excluded.started_at, ended_at = NULL, value = NULL, error = NULL,
        queued_s = 0.0, ran_s = 0.0, backoff_s = 0.0""",
)

ITEM_ENDED = Statement(
    before="""INSERT INTO items (fan_out, key, item_index, status, ended_at,
        queued_s, ran_s, backoff_s, value, error, starts) VALUES""",
    row="(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
    after="""ON CONFLICT (fan_out, key) DO UPDATE SET
        item_index = excluded.item_index, status = excluded.status,
        ended_at = excluded.ended_at, value = excluded.value, error = excluded.error,
        queued_s = excluded.queued_s, ran_s = excluded.ran_s, backoff_s = excluded.backoff_s""",
)

ATTEMPT_ENDED = Statement(
    before="""WITH new (fan_out, key, call,
        queued_s, ran_s, backoff_s, error, requests, tokens, usd,
        input_tokens, output_tokens, cached_tokens, first_token_s, started_at, caps,
        lag_s, in_flight, worker) AS (VALUES""",
    row="(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    after=""") INSERT INTO attempts (fan_out, key, number, call,
        queued_s, ran_s, backoff_s, error, requests, tokens, usd,
        input_tokens, output_tokens, cached_tokens, first_token_s, started_at, caps, lag_s,
        in_flight, worker)
        SELECT fan_out, key, (SELECT coalesce(max(number), 0) + 1 FROM attempts AS old
            WHERE old.fan_out = new.fan_out AND old.key = new.key), call,
            queued_s, ran_s, backoff_s, error, requests, tokens, usd,
            input_tokens, output_tokens, cached_tokens, first_token_s, started_at, caps,
            lag_s, in_flight, worker FROM new""",
)

EVENT = Statement(
    before="INSERT INTO events (run_id, at, kind, data) VALUES",
    row="(?, ?, ?, ?)",
)

INPUT = Statement(
    before="INSERT INTO inputs (run_id, input_index, data) VALUES",
    row="(?, ?, ?)",
    after="ON CONFLICT (run_id, input_index) DO UPDATE SET data = excluded.data",
)

FAN_OUT = Statement(
    before="""INSERT INTO fan_outs
        (id, run_id, path, cap, halt, opened_at, status, ended_at, stats) VALUES""",
    row="(?, ?, ?, ?, ?, ?, ?, ?, ?)",
    # A resume opens it again; `opened_at` stays as it was.
    after="""ON CONFLICT (id) DO UPDATE SET
        path = excluded.path, cap = excluded.cap, halt = excluded.halt,
        status = excluded.status, ended_at = excluded.ended_at, stats = excluded.stats""",
)

# These are written one by one.
FAN_OUT_ENDED = "UPDATE fan_outs SET status = ?, ended_at = ?, stats = ? WHERE id = ?"
INPUTS_CLEARED = "DELETE FROM inputs WHERE run_id = ?"
RUN_ENDED = "UPDATE runs SET status = ?, ended_at = ?, error = ?, owner = NULL WHERE id = ?"


def insert_all(
    execute: Callable[[str, tuple[Any, ...]], object],
    statement: Statement,
    rows: Sequence[tuple[Any, ...]],
) -> None:
    """Insert the rows, in order, with as few statements as possible."""
    for chunk in _chunks(rows):
        execute(_sql(statement, len(chunk)), tuple(chain.from_iterable(chunk)))


def _chunks(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    start, size = 0, MOST_ROWS
    while start < len(rows):
        while size > len(rows) - start:
            size //= 2
        yield rows[start : start + size]
        start += size


@lru_cache(maxsize=64)
def _sql(statement: Statement, rows: int) -> str:
    return f"{statement.before} {', '.join([statement.row] * rows)} {statement.after}"
