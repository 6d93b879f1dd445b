"""Write many rows in one transaction, with the same result as writing them one by one.

Nobody sees a transaction half done, so writes to different rows may swap places inside it. That
way, interleaved starts and ends become two statements with many rows each. Order matters in one
case only: when an item that ended starts again. There the batch is split.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import msgspec
from msgspec.structs import astuple

from fanwise.journal import statements
from fanwise.journal.port import (
    AttemptWrite,
    Batch,
    EndRow,
    EventRecord,
    FanOutEndWrite,
    FanOutRecord,
    InputRecord,
    InputsCleared,
    ItemEndWrite,
    ItemStartWrite,
    RunEndWrite,
    StartRow,
    Write,
)
from fanwise.journal.statements import Statement


class WriteTarget(Protocol):
    """A connection inside a transaction."""

    def insert(self, statement: Statement, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert the rows, in order."""

    def execute(self, query: str, parameters: tuple[Any, ...], /) -> object:
        """Execute a query with `?` for each parameter."""


def write_all(target: WriteTarget, writes: Iterable[Write]) -> None:
    """Execute all writes, with the same result as one after the other."""
    batch = _Batch(target)
    batch.add_all(writes)
    batch.flush()


class _Batch:
    """The writes since the last split, by kind."""

    def __init__(self, target: WriteTarget) -> None:
        self._target = target
        self._started: list[StartRow] = []
        self._ended: list[EndRow] = []
        self._ended_keys: set[tuple[int, str]] = set()
        self._attempts: list[AttemptWrite] = []
        self._events: list[EventRecord] = []
        self._inputs: list[InputRecord] = []

    def add_all(self, writes: Iterable[Write]) -> None:
        # The most frequent kinds first, inlined: meanwhile the event loop waits for the GIL.
        for write in writes:
            if isinstance(write, Batch):
                self._started += write.started
                self._ended += write.ended
                self.add_all(write.others)
            elif isinstance(write, AttemptWrite):
                self._attempts.append(write)
            elif isinstance(write, ItemStartWrite):
                if (write.fan_out, write.key) in self._ended_keys:
                    self.flush()
                self._started.append(astuple(write))
            elif isinstance(write, ItemEndWrite):
                self._ended_keys.add((write.fan_out, write.key))
                self._ended.append(astuple(write))
            else:
                self._add_rare(write)

    def _add_rare(self, write: Write) -> None:
        if isinstance(write, EventRecord):
            self._events.append(write)
        elif isinstance(write, InputRecord):
            self._inputs.append(write)
        elif isinstance(write, FanOutRecord):
            self._target.insert(statements.FAN_OUT, [astuple(write)])
        elif isinstance(write, FanOutEndWrite):
            self._target.execute(statements.FAN_OUT_ENDED, _id_last(write))
        elif isinstance(write, InputsCleared):
            self.flush()
            self._target.execute(statements.INPUTS_CLEARED, astuple(write))
        elif isinstance(write, RunEndWrite):
            self._target.execute(statements.RUN_ENDED, _id_last(write))
        else:
            raise TypeError(f"the journal cannot write a {type(write).__name__}")

    def flush(self) -> None:
        self._target.insert(statements.ITEM_STARTED, self._started)
        self._target.insert(statements.ITEM_ENDED, self._ended)
        for attempts in _rounds(self._attempts):
            self._target.insert(statements.ATTEMPT_ENDED, _rows(attempts))
        self._target.insert(statements.EVENT, _rows(self._events))
        self._target.insert(statements.INPUT, _rows(self._inputs))
        self._clear()

    def _clear(self) -> None:
        for written in (self._started, self._ended, self._attempts, self._events, self._inputs):
            written.clear()
        self._ended_keys.clear()


def _rows(records: Iterable[msgspec.Struct]) -> list[tuple[Any, ...]]:
    return list(map(astuple, records))


def _id_last(record: msgspec.Struct) -> tuple[Any, ...]:
    """The fields for an UPDATE: its WHERE comes after its SET."""
    first, *rest = astuple(record)
    return (*rest, first)


def _rounds(attempts: list[AttemptWrite]) -> list[list[AttemptWrite]]:
    """The first attempt of each item, then the second of each, and so on.

    An attempt's number is computed from the rows on disk, which do not include those of the
    statement it is part of.
    """
    rounds: list[list[AttemptWrite]] = []
    seen: dict[tuple[int, str], int] = {}
    for attempt in attempts:
        item = (attempt.fan_out, attempt.key)
        number = seen[item] = seen.get(item, -1) + 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(attempt)
    return rounds
