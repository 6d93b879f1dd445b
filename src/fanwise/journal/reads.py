"""Reading a journal: what every connection to the file can answer, from any thread.

The long answers are streamed, so that a million items do not have to fit into memory. An
iterator that is not read to its end holds its snapshot of the file until it is closed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from sqlalchemy import Engine, Select, Table, func, select
from sqlalchemy.exc import DBAPIError

from fanwise.journal import runs, schema
from fanwise.journal.connect import journal_errors
from fanwise.journal.port import (
    AttemptRecord,
    CallTotals,
    EventRecord,
    FanOutRecord,
    InputRecord,
    ItemRecord,
    ItemStatus,
    RunRecord,
)
from fanwise.journal.read_call_totals import read_total

R = TypeVar("R", bound=msgspec.Struct)
ROWS_AT_ONCE = 1000


class Reads:
    """The reading half of a journal."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine = engine
        self._path = path

    @property
    def location(self) -> str:
        """The path of the file."""
        return str(self._path)

    def run(self, run_id: str) -> RunRecord:
        """`RunNotFound`."""
        with journal_errors(self._path), self._engine.connect() as connection:
            return runs.get(connection, run_id)

    def runs(self) -> list[RunRecord]:
        """All runs, the newest first."""
        with journal_errors(self._path), self._engine.connect() as connection:
            return runs.newest_first(connection)

    def fan_outs(self, run_id: str) -> list[FanOutRecord]:
        """In the order in which they were first opened."""
        table = schema.fan_outs
        query = _select(table, FanOutRecord).where(table.c.run_id == run_id)
        return list(self._stream(query.order_by(table.c.seq), FanOutRecord))

    def items(self, fan_out: int, keys: Sequence[str] | None = None) -> Iterator[ItemRecord]:
        """In item order; all, or those with these keys."""
        table = schema.items
        query = _select(table, ItemRecord, index="item_index").where(table.c.fan_out == fan_out)
        query = _only(query, table, keys).order_by(table.c.item_index, table.c.key)
        return self._stream(query, ItemRecord)

    def statuses(self, fan_out: int) -> dict[str, ItemStatus]:
        """Every item's status by its key, in item order, without reading the values."""
        table = schema.items
        query = select(table.c.key, table.c.status).where(table.c.fan_out == fan_out)
        with journal_errors(self._path), self._engine.connect() as connection:
            rows = connection.execute(query.order_by(table.c.item_index, table.c.key))
            return {row[0]: row[1] for row in rows}

    def counts(self, fan_out: int) -> dict[ItemStatus, int]:
        """How many items have which status, without reading their values."""
        table = schema.items
        query = select(table.c.status, func.count()).where(table.c.fan_out == fan_out)
        with journal_errors(self._path), self._engine.connect() as connection:
            rows = connection.execute(query.group_by(table.c.status))
            return {row[0]: row[1] for row in rows}

    def attempts(self, fan_out: int, keys: Sequence[str] | None = None) -> Iterator[AttemptRecord]:
        """By item, then number; of all items, or of those with these keys."""
        table, items = schema.attempts, schema.items
        same = (items.c.fan_out == table.c.fan_out) & (items.c.key == table.c.key)
        query = (
            _select(table, AttemptRecord)
            .join_from(table, items, same, isouter=True)
            .where(table.c.fan_out == fan_out)
            .order_by(items.c.item_index, table.c.key, table.c.number)
        )
        return self._stream(_only(query, table, keys), AttemptRecord)

    def call_totals(self, run_id: str) -> CallTotals:
        """What the calls of the run came to, without reading them one by one."""
        with journal_errors(self._path), self._engine.connect() as connection:
            return read_total(connection, run_id)

    def events(self, run_id: str) -> Iterator[EventRecord]:
        """In the order in which they were submitted."""
        table = schema.events
        query = _select(table, EventRecord).where(table.c.run_id == run_id)
        return self._stream(query.order_by(table.c.seq), EventRecord)

    def inputs(self, run_id: str, start: int = 0) -> Iterator[InputRecord]:
        """In order, from `start` on."""
        table = schema.inputs
        query = (
            _select(table, InputRecord, index="input_index")
            .where(table.c.run_id == run_id, table.c.input_index >= start)
            .order_by(table.c.input_index)
        )
        return self._stream(query, InputRecord)

    def _stream(self, query: Select[tuple[object, ...]], record: type[R]) -> Iterator[R]:
        with journal_errors(self._path):
            connection = self._engine.connect()
            to_the_end = False
            try:
                rows = connection.execution_options(yield_per=ROWS_AT_ONCE).execute(query)
                for row in rows:
                    yield record(*row)
                to_the_end = True
            finally:
                # Of an iterator that nobody closed, the connection may be collected first.
                with suppress(DBAPIError, sqlite3.Error):
                    if not to_the_end:  # The journal may be closed, and nobody look in its pool.
                        connection.detach()
                    connection.close()


def _only(
    query: Select[tuple[object, ...]], table: Table, keys: Sequence[str] | None
) -> Select[tuple[object, ...]]:
    return query if keys is None else query.where(table.c.key.in_(keys))


def _select(
    table: Table, record: type[msgspec.Struct], **renamed: str
) -> Select[tuple[object, ...]]:
    """The columns of a record, in the order of its fields."""
    return select(*(table.c[renamed.get(name, name)] for name in record.__struct_fields__))
