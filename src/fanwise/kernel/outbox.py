"""What is written to the journal, gathered for one turn of the event loop.

A write on its own takes a place in the journal's queue, an answer, and a way back to the loop:
together more than the row itself. So the writes of a turn go to the journal as one, in their
order, and are answered as one. It costs a write no more than the rest of its turn.

An item's start and its end are never in the same batch: the item begins when its start is
answered. For the same reason it does no harm that writes which go to the journal directly may
overtake those here: nobody acts on a write before it is answered.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from fanwise.journal import port
from fanwise.kernel.inbox import Inbox


class Waiter(Protocol):
    """Whoever waits for a write."""

    def on_disk(self, error: BaseException | None) -> None:
        """It is on disk, or (an error) it could not be written. Called on the event loop."""


class Outbox:
    """The writes of a run on one event loop."""

    def __init__(self, journal: port.Journal, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._journal = journal
        self._inbox = Inbox(loop, _answer)
        self._gathered: _PendingBatch | None = None

    def add_start(self, row: port.StartRow, waiter: Waiter) -> None:
        """An item starts as soon as this is on disk."""
        gathered = self._gathered or self._gather()
        gathered.batch.started.append(row)
        gathered.waiters.append(waiter)

    def add_end(self, row: port.EndRow, waiter: Waiter) -> None:
        """An item's outcome is told as soon as this is on disk."""
        gathered = self._gathered or self._gather()
        gathered.batch.ended.append(row)
        gathered.waiters.append(waiter)

    def add(self, write: port.Write) -> None:
        """Anything else."""
        gathered = self._gathered or self._gather()
        gathered.batch.others.append(write)

    async def on_disk(self) -> None:
        """Wait until everything submitted so far is on disk, here or to the journal directly."""
        written = _WriteFuture(self.loop)
        gathered = self._gathered or self._gather()
        gathered.waiters.append(written)
        await written.future

    def flush(self) -> None:
        """Do not wait for the end of this turn."""
        gathered, self._gathered = self._gathered, None
        if gathered is None:
            return
        if not gathered.waiters:
            self._journal.submit(gathered.batch)  # if it fails, closing the journal says so
            return
        self._inbox.expect()
        self._journal.submit(gathered.batch, gathered)

    def _gather(self) -> _PendingBatch:
        self.loop.call_soon(self.flush)
        self._gathered = _PendingBatch(self._inbox)
        return self._gathered


class _PendingBatch:
    """The writes of one turn, and who waits for them. The journal calls it, from its thread."""

    def __init__(self, inbox: Inbox[_PendingBatch]) -> None:
        self.batch = port.Batch()
        self.waiters: list[Waiter] = []
        self.error: BaseException | None = None
        self._inbox = inbox

    def __call__(self, error: BaseException | None) -> None:
        self.error = error
        self._inbox.put(self)


class _WriteFuture:
    """A wait for everything submitted before it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.future: asyncio.Future[None] = loop.create_future()

    def on_disk(self, error: BaseException | None) -> None:
        if self.future.done():  # whoever waited was cancelled
            return
        if error is None:
            self.future.set_result(None)
        else:
            self.future.set_exception(error)


def _answer(gathered: _PendingBatch) -> None:
    for waiter in gathered.waiters:
        waiter.on_disk(gathered.error)
