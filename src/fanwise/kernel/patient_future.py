"""A future whose waiter goes on waiting when it is cancelled.

"Cancelled" must mean "ended": a task that waits for a thread, or for the items of a fan-out, has to
keep waiting after a cancellation until these have ended. A task that is cancelled calls `cancel` of
what it awaits and relies on it. So this future accepts the cancellation without waking the task.

Rejected: `asyncio.shield` and `asyncio.wait` in a loop, which do the same with two futures and
three callbacks for each wait.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

T = TypeVar("T")


class PatientFuture(asyncio.Future[T]):
    """Calls `interrupted` when its waiter is cancelled, and stays pending."""

    def cancel(self, msg: Any | None = None) -> bool:
        """Called by the task that awaits this. True: the task is not woken."""
        if self.done():
            return False
        self.interrupted(asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg))
        return True

    def interrupted(self, error: asyncio.CancelledError) -> None:
        """The waiter was cancelled: make the work end, and raise this error when it has."""
        raise NotImplementedError
