"""The thread that writes, with group commit.

A commit costs one fsync, whether it holds one write or a thousand. So the thread takes everything
that is queued, commits it as one transaction, then calls everyone back. While it waits for the
disk, the next transaction gathers. There is no batch size to tune: the slower the disk, the bigger
the batches.

Rejected: a commit for each write (3,800 items/s instead of 50,000), a timer that gathers writes
(it delays each write by its period when there is little to do), asyncio drivers (0.7 ms per row).

The queue is a `SimpleQueue` because its `put` may be called at any moment, even during garbage
collection: the finalizer of a journal that was never closed flushes it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from sqlite3 import Connection
from typing import Any, TypeVar

from fanwise.crashpoint import crash_point
from fanwise.errors import FanwiseError, JournalError, JournalNotWritable
from fanwise.journal.batch import write_all
from fanwise.journal.callbacks import tell, tell_written
from fanwise.journal.connect import explain, transaction
from fanwise.journal.port import Batch, Then, Write
from fanwise.journal.runs import cancel_requests
from fanwise.journal.watches import POLL_S, Watches

T = TypeVar("T")

MOST_WRITES = 10_000
"""Per transaction, so that one that nobody waits for does not grow without bound."""


class _Order:
    """An entry in the queue that is not a write."""


class _Call(_Order):
    """A transaction of its own, with a caller who waits for the result."""

    def __init__(self, function: Callable[[Connection], Any], answer: Future[Any]) -> None:
        self.function = function
        self.answer = answer


class _Stop(_Order):
    """Write everything before this, then end."""


class _Wake(_Order):
    """Poll for cancel requests."""


Entry = tuple[Write | _Order, Then | None]


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file is there; None: there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Writer:
    """Owns the writing connection and the thread that uses it."""

    def __init__(self, connection: Connection, path: Path) -> None:
        self._path = path
        self._queue: SimpleQueue[Entry] = SimpleQueue()
        self._refusal: JournalError | None = None
        self._untold: JournalError | None = None
        self._ended = False
        self._connection = connection
        self._file = _identity(path)
        self.watches = Watches()
        self._thread = threading.Thread(target=self._loop, name="fanwise-journal", daemon=True)
        self._thread.start()

    def submit(self, write: Write, then: Then | None) -> None:
        self._put((write, then))

    def call(self, function: Callable[[Connection], T]) -> T:
        """Call `function` after everything queued, in a transaction of its own."""
        answer: Future[T] = Future()
        self._put((_Call(function, answer), answer.set_exception))
        return answer.result()

    def wake(self) -> None:
        """Poll for cancel requests now."""
        self._put((_Wake(), None))

    def stop(self) -> None:
        """Write what is queued and close the file. Raises if a write failed and nobody was told."""
        self._queue.put((_Stop(), None))
        if threading.current_thread() is not self._thread:
            self._thread.join()
        if self._untold is not None:
            error, self._untold = self._untold, None
            raise error

    def _put(self, entry: Entry) -> None:
        if self._refusal is not None:
            self._refuse(entry)
            return
        self._queue.put(entry)
        if (
            self._ended
        ):  # The thread ended between the two lines above, so nobody else empties the queue.
            self._refuse_the_rest()

    def _loop(self) -> None:
        try:
            while self._work(self._take()):
                if self.watches.is_due(time.monotonic()):
                    self._look()
        finally:
            self._connection.close()
            self._refusal = self._refusal or JournalNotWritable(str(self._path), "it is closed")
            self._ended = True
            self._refuse_the_rest()

    def _take(self) -> list[Entry]:
        """Everything queued. Waits for the first entry, but not beyond the next poll."""
        entries: list[Entry] = []
        writes = 0
        try:
            entry = self._queue.get(timeout=POLL_S if self.watches else None)
            while True:
                entries.append(entry)
                writes += len(entry[0]) if isinstance(entry[0], Batch) else 1
                if writes >= MOST_WRITES:
                    break
                entry = self._queue.get_nowait()
        except Empty:
            pass
        return entries

    def _work(self, entries: list[Entry]) -> bool:
        """Write the entries in order, even those after a stop. False if there was a stop."""
        go_on = True
        batch: list[tuple[Write, Then | None]] = []
        for entry in entries:
            if not isinstance(entry[0], _Order):
                batch.append(entry)  # type: ignore[arg-type]
                continue
            self._write(batch)
            batch = []
            if isinstance(entry[0], _Stop):
                go_on = False
            elif isinstance(entry[0], _Wake):
                self.watches.make_due()
            elif isinstance(entry[0], _Call):
                self._answer(entry[0], entry)
        self._write(batch)
        return go_on

    def _write(self, batch: list[tuple[Write, Then | None]]) -> None:
        if not batch:
            return
        if self._refusal is None:
            try:
                self._commit([write for write, _ in batch])
            except Exception as error:
                self._fail(error)
        if self._refusal is None:
            tell_written(batch)
            return
        for entry in batch:
            self._refuse(entry)

    def _commit(self, writes: list[Write]) -> None:
        with transaction(self._connection):
            write_all(self._connection.execute, writes)
            crash_point("journal.before_commit")
        self._check_file()
        crash_point("journal.after_commit")

    def _check_file(self) -> None:
        """Raise if the file was deleted or replaced: what is written then goes to nobody's file.

        After the commit, so that nobody is told of what is lost.
        """
        if _identity(self._path) != self._file:
            raise JournalNotWritable(
                str(self._path),
                "the file was deleted, moved or replaced while a run was using it",
                next_step="Put it back if you moved it, then resume; otherwise start a new run",
            )

    def _answer(self, call: _Call, entry: Entry) -> None:
        if self._refusal is not None:
            self._refuse(entry)
            return
        try:
            with transaction(self._connection):
                answer = call.function(self._connection)
        except FanwiseError as error:
            call.answer.set_exception(error)
        except Exception as error:
            self._fail(error)
            self._refuse(entry)
        else:
            call.answer.set_result(answer)

    def _look(self) -> None:
        try:
            version = self._connection.execute("PRAGMA data_version").fetchone()[0]
            if self.watches.is_news(version):
                self.watches.fire(cancel_requests(self._connection))
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Refuse all further writes: nothing may follow a write that failed."""
        problem = error if isinstance(error, JournalError) else explain(self._path, error)
        if not isinstance(problem, JournalNotWritable):
            problem = JournalNotWritable(str(self._path), str(error))
        if problem is not error:
            problem.__cause__ = error
        self._refusal = problem

    def _refuse(self, entry: Entry) -> None:
        assert self._refusal is not None
        if entry[1] is None and not isinstance(entry[0], _Stop | _Wake):
            self._untold = self._refusal
        tell(entry[1], self._refusal)

    def _refuse_the_rest(self) -> None:
        try:
            while True:
                self._refuse(self._queue.get_nowait())
        except Empty:
            pass
