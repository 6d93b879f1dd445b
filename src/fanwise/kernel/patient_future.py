"""A wait that a cancellation does not end.

"Cancelled" must mean "ended": whoever waits for a thread, or for the items of a fan-out, has to
wait on when he is cancelled, until what he waits for has come to its end. A task cancels what it
awaits, and takes its word for it. So the cancellation is taken here, and the task is not woken.

Rejected: `asyncio.shield` and `asyncio.wait` in a loop, which do the same with two futures and
three callbacks for each wait.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

T = TypeVar("T")


class PatientFuture(asyncio.Future[T]):
    """A future that is told when its waiter is cancelled, and goes on."""

    def cancel(self, msg: Any | None = None) -> bool:
        """Called by the task that awaits this; True: it need not be woken."""
        if self.done():
            return False
        self.interrupted(asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg))
        return True

    def interrupted(self, error: asyncio.CancelledError) -> None:
        """The waiter was cancelled: see that what it waits for ends. Raise this when it has."""
        raise NotImplementedError
