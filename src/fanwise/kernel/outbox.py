"""Collects what is written to the journal in one turn of the event loop.

Each write on its own would take a place in the journal's queue, a callback and a wake-up of the
loop, which together cost more than the row itself. So the writes of one turn go to the journal as
one batch, in order, with one answer. A write waits no longer than the rest of its turn.

An item's start and end are never in the same batch, because the item begins when its start is
answered. For the same reason writes that go to the journal directly may overtake those here:
nobody acts on a write before it is answered.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from fanwise.journal import port
from fanwise.kernel.inbox import Inbox


class Waiter(Protocol):
    """Waits for a write."""

    def on_disk(self, error: BaseException | None) -> None:
        """Called on the event loop when it is on disk or, with an error, could not be written."""


class Outbox:
    """The writes of a run on one event loop."""

    def __init__(self, journal: port.Journal, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._journal = journal
        self._inbox = Inbox(loop, _answer)
        self._pending: _PendingBatch | None = None

    def add_start(self, row: port.StartRow, waiter: Waiter) -> None:
        """Add an item's start. The item begins when this is on disk."""
        pending = self._pending or self._collect()
        pending.batch.started.append(row)
        pending.waiters.append(waiter)

    def add_end(self, row: port.EndRow, waiter: Waiter) -> None:
        """Add an item's outcome. It is reported when this is on disk."""
        pending = self._pending or self._collect()
        pending.batch.ended.append(row)
        pending.waiters.append(waiter)

    def add(self, write: port.Write) -> None:
        """Add any other write."""
        pending = self._pending or self._collect()
        pending.batch.others.append(write)

    async def on_disk(self) -> None:
        """Wait until everything submitted so far is on disk, through here or directly."""
        written = _WriteFuture(self.loop)
        pending = self._pending or self._collect()
        pending.waiters.append(written)
        await written.future

    def flush(self) -> None:
        """Submit what was collected now, not at the end of this turn."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        if not pending.waiters:
            self._journal.submit(pending.batch)  # if it fails, closing the journal says so
            return
        self._inbox.expect()
        self._journal.submit(pending.batch, pending)

    def _collect(self) -> _PendingBatch:
        self.loop.call_soon(self.flush)
        self._pending = _PendingBatch(self._inbox)
        return self._pending


class _PendingBatch:
    """The writes of one turn, and who waits for them. The journal calls it from its thread."""

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
        if self.future.done():  # the task that waited was cancelled
            return
        if error is None:
            self.future.set_result(None)
        else:
            self.future.set_exception(error)


def _answer(pending: _PendingBatch) -> None:
    for waiter in pending.waiters:
        waiter.on_disk(pending.error)
