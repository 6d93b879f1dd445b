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
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from fanwise.errors import FanwiseError, JournalError, JournalNotWritable
from fanwise.journal import runs
from fanwise.journal.callbacks import tell, tell_written
from fanwise.journal.port import Batch, Then, Write
from fanwise.journal.reads import Reads, ReadSource
from fanwise.journal.watches import Watches

T = TypeVar("T")

MOST_WRITES = 10_000
"""Per transaction, so that one that nobody waits for does not grow without bound."""


class Session(Protocol):
    """The writing connection. Only the writer's thread uses it."""

    location: str
    poll_s: float
    """How often to look for requests."""

    def commit(self, writes: list[Write]) -> None:
        """Write all of this in one transaction."""

    def call(self, function: Callable[[Any], T]) -> T:
        """Call `function` with the connection, in a transaction of its own."""

    def look(self, *, anyway: bool) -> list[runs.RunRequests]:
        """What was asked of runs; may be empty if nothing changed, unless `anyway`."""

    def explain(self, error: Exception) -> JournalError:
        """Our error for one of the driver's."""

    def close(self) -> None: ...


class _Order:
    """An entry in the queue that is not a write."""


class _Call(_Order):
    """A call with a caller who waits for the result."""

    def __init__(self, function: Callable[[], Any], answer: Future[Any]) -> None:
        self.function = function
        self.answer = answer


class _Stop(_Order):
    """Write everything before this, then end."""


class _Wake(_Order):
    """Poll for requests."""


Entry = tuple[Write | _Order, Then | None]


class Writer:
    """Owns the writing connection and the thread that uses it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._queue: SimpleQueue[Entry] = SimpleQueue()
        self._refusal: JournalError | None = None
        self._untold: JournalError | None = None
        self._ended = False
        self._look_anyway = True
        self.watches = Watches(session.poll_s)
        self._thread = threading.Thread(target=self._loop, name="fanwise-journal", daemon=True)
        self._thread.start()

    def submit(self, write: Write, then: Then | None) -> None:
        self._put((write, then))

    def call(self, function: Callable[[Any], T]) -> T:
        """Call `function` after everything queued, in a transaction of its own."""
        return self.order(partial(self._session.call, function))

    def order(self, function: Callable[[], T]) -> T:
        """Call `function` in the writer's thread, after everything queued."""
        answer: Future[T] = Future()
        self._put((_Call(function, answer), answer.set_exception))
        return answer.result()

    def wake(self) -> None:
        """Poll for requests now."""
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
            self._session.close()
            closed = JournalNotWritable(self._session.location, "it is closed")
            self._refusal = self._refusal or closed
            self._ended = True
            self._refuse_the_rest()

    def _take(self) -> list[Entry]:
        """Everything queued. Waits for the first entry, but not beyond the next poll."""
        entries: list[Entry] = []
        writes = 0
        try:
            entry = self._queue.get(timeout=self._session.poll_s if self.watches else None)
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
                self._look_anyway = True
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
                self._session.commit([write for write, _ in batch])
            except Exception as error:
                self._fail(error)
        if self._refusal is None:
            tell_written(batch)
            return
        for entry in batch:
            self._refuse(entry)

    def _answer(self, call: _Call, entry: Entry) -> None:
        if self._refusal is not None:
            self._refuse(entry)
            return
        try:
            answer = call.function()
        except FanwiseError as error:
            call.answer.set_exception(error)
        except Exception as error:
            self._fail(error)
            self._refuse(entry)
        else:
            call.answer.set_result(answer)

    def _look(self) -> None:
        try:
            found = self._session.look(anyway=self._look_anyway)
            self._look_anyway = False
            self.watches.fire(found)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Refuse all further writes: nothing may follow a write that failed."""
        problem = error if isinstance(error, JournalError) else self._session.explain(error)
        if not isinstance(problem, JournalNotWritable):
            problem = JournalNotWritable(self._session.location, str(error))
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


class WrittenJournal(Reads):
    """A journal with a writer: what all databases have in common."""

    def __init__(self, source: ReadSource, session: Session) -> None:
        super().__init__(source)
        self._writer = Writer(session)
        # Also runs at exit. A reference to the journal would keep it from being collected.
        self._close = weakref.finalize(self, _close, self._writer, source)

    def submit(self, write: Write, then: Then | None = None) -> None:
        """Write this with the next batch."""
        self._writer.submit(write, then)

    def request_cancel(self, run_id: str) -> None:
        """Ask the process that executes the run to cancel it."""
        self._writer.call(partial(runs.request_cancel, run_id=run_id))
        self._writer.wake()

    def watch_cancel(self, run_id: str, on_cancel: Callable[[], None]) -> Callable[[], None]:
        """Call `on_cancel` once, from the writer's thread, after a cancel was requested."""
        end = self._writer.watches.add(run_id, on_cancel)
        self._writer.wake()
        return end

    def request_caps(self, run_id: str, caps: Mapping[str, int]) -> None:
        """Ask the process that executes the run for these limits."""
        self._writer.call(partial(runs.request_caps, run_id=run_id, caps=caps))
        self._writer.wake()

    def watch_caps(
        self, run_id: str, on_caps: Callable[[dict[str, int]], None]
    ) -> Callable[[], None]:
        """Call `on_caps` from the writer's thread after other limits were asked for."""
        end = self._writer.watches.add_caps(run_id, on_caps)
        self._writer.wake()
        return end

    def close(self) -> None:
        """Write what was submitted. `JournalNotWritable` if that failed and nobody was told."""
        self._close()


def _close(writer: Writer, source: ReadSource) -> None:
    try:
        writer.stop()
    finally:
        source.close()
