"""Read a journal, from any thread.

Long results are streamed, so a million items need not fit into memory. An iterator that is not
read to its end keeps its snapshot of the file until it is closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from fanwise.errors import JournalDamaged
from fanwise.journal import queries, runs
from fanwise.journal.damage import STATUSES, check_statuses, checked_rows
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
from fanwise.journal.runs import JournalConnection

R = TypeVar("R", bound=msgspec.Struct)
_SAME: dict[Any, ItemStatus] = {status: status for status in STATUSES}


class ReadSource(Protocol):
    """Connections to one database, with its errors turned into ours."""

    @property
    def location(self) -> str: ...

    def reading(self) -> AbstractContextManager[Any]:
        """A connection for this block alone; see `JournalConnection`."""

    def rows(self, connection: Any, query: str, parameters: Sequence[Any]) -> Iterable[Any]:
        """The rows of a long result, without holding all of them."""

    def version(self) -> int:
        """A number that is another one after anybody has written."""

    def close(self) -> None: ...


class ItemFilter(msgspec.Struct, frozen=True):
    """Which items are wanted; empty: all."""

    status: str = ""
    text: str = ""
    """In their key, value or error, in upper or lower case."""
    ran_s: float = 0.0
    """They ran at least that long."""


class CallSpan(NamedTuple):
    """When a call held its caps."""

    caps: str
    """Their names, with commas between them."""
    start: float
    end: float
    error: str | None


class ItemSpan(NamedTuple):
    """When an item was in flight; `end` is None if it still is."""

    start: float
    end: float | None
    failed: bool


class Reads:
    """The reading half of a journal."""

    def __init__(self, source: ReadSource) -> None:
        self._source = source

    @property
    def location(self) -> str:
        """The path of the file, or the address of the server."""
        return self._source.location

    def run(self, run_id: str) -> RunRecord:
        """One run. Raises `RunNotFound`."""
        with self._reading() as connection:
            return runs.get(connection, run_id)

    def runs(self, *, specs: bool = True) -> list[RunRecord]:
        """All runs, the newest first. A spec may hold a whole file; without `specs` it is empty."""
        with self._reading() as connection:
            return runs.newest_first(connection, specs=specs)

    def version(self) -> int:
        """A number that is another one after anybody has written to the journal."""
        return self._source.version()

    def fan_outs(self, run_id: str) -> list[FanOutRecord]:
        """The fan-outs of a run, in the order in which they were first opened."""
        return list(self._stream(FanOutRecord, queries.FAN_OUTS, run_id))

    def items(self, fan_out: int, keys: Sequence[str] | None = None) -> Iterator[ItemRecord]:
        """The items of a fan-out, in item order: all, or those with these keys."""
        query = queries.items(None if keys is None else len(keys))
        return self._stream(ItemRecord, query, fan_out, *(keys or ()))

    def items_page(
        self, fan_out: int, wanted: ItemFilter, after: tuple[int, str], most: int
    ) -> list[ItemRecord]:
        """The next items behind this index and key, in item order; of their values the start."""
        index, key = after
        text = "".join(f"!{c}" if c in "!%_" else c for c in wanted.text.lower())
        like = (f"%{text}%",) * 3
        parameters = (fan_out, index, index, key, wanted.status, wanted.status, text, *like)
        return list(self._stream(ItemRecord, queries.ITEMS_PAGE, *parameters, wanted.ran_s, most))

    def statuses(self, fan_out: int) -> dict[str, ItemStatus]:
        """The status of each item by its key, in item order, without reading the values."""
        with self._reading() as connection:
            rows = connection.execute(queries.STATUSES, (fan_out,))
            # The driver creates a new string for each row: a million times "done".
            found = {key: _SAME.get(status, status) for key, status in rows}
        check_statuses(found, self.location)
        return found

    def counts(self, fan_out: int) -> dict[ItemStatus, int]:
        """How many items have each status, without reading the values."""
        with self._reading() as connection:
            found = dict(connection.execute(queries.COUNTS, (fan_out,)))
        if not STATUSES.issuperset(found):
            self.statuses(fan_out)  # names the item, and raises
        return found

    def call_spans(self, run_id: str, since: float, most: int) -> list[CallSpan]:
        """The calls that held a cap and ended after this time: the last ones."""
        with self._reading() as connection:
            found = connection.execute(queries.CALL_SPANS, (run_id, since, most))
            return [CallSpan(*row) for row in found]

    def item_spans(self, fan_out: int, since: float, most: int) -> list[ItemSpan]:
        """The items that were in flight after this time: those that still are, and the last."""
        with self._reading() as connection:
            found = connection.execute(queries.ITEM_SPANS, (fan_out, since, most))
            return [ItemSpan(start, end, bool(failed)) for start, end, failed in found]

    def attempts(self, fan_out: int, keys: Sequence[str] | None = None) -> Iterator[AttemptRecord]:
        """The attempts of a fan-out, by item and number: all, or those of items with these keys."""
        query = queries.attempts(None if keys is None else len(keys))
        return self._stream(AttemptRecord, query, fan_out, *(keys or ()))

    def call_totals(self, run_id: str) -> CallTotals:
        """Totals of the calls of a run, without reading them one by one."""
        with self._reading() as connection:
            return read_total(connection, run_id)

    def events(self, run_id: str, kind: str | None = None) -> Iterator[EventRecord]:
        """The events of a run, in the order of submission: all, or those of one kind."""
        return self._stream(EventRecord, queries.EVENTS, run_id, kind, kind)

    def inputs(self, run_id: str, start: int = 0) -> Iterator[InputRecord]:
        """The inputs of a run in order, from `start` on."""
        return self._stream(InputRecord, queries.INPUTS, run_id, start)

    def input_count(self, run_id: str) -> int:
        """How many inputs of a run are recorded, without reading them."""
        with self._reading() as connection:
            found: int = connection.execute(queries.INPUT_COUNT, (run_id,)).fetchone()[0]
            return found

    def _stream(self, record: type[R], query: str, *parameters: Any) -> Iterator[R]:
        with self._reading() as connection:
            rows = self._source.rows(connection, query, parameters)
            yield from checked_rows(record, rows, self.location)

    @contextmanager
    def _reading(self) -> Iterator[JournalConnection]:
        try:
            with self._source.reading() as connection:
                yield connection
        except JournalDamaged as error:  # a row does not know which journal it is in
            damaged = JournalDamaged(self.location, error.run_id, error.row, error.problem)
            raise damaged from error
