"""The end of a fan-out, as a future that its caller waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fanwise.kernel.patient_future import PatientFuture


class FanOutEnd(PatientFuture[None]):
    """Calls `abort` if the task that waits for this is cancelled."""

    def __init__(
        self, abort: Callable[[BaseException], None], loop: asyncio.AbstractEventLoop
    ) -> None:
        super().__init__(loop=loop)
        self._abort: Callable[[BaseException], None] | None = abort

    def interrupted(self, error: asyncio.CancelledError) -> None:
        """Cancel everything, then raise this."""
        if self._abort is not None:
            self._abort(error)

    def come(self) -> None:
        """Everything has ended. The loop may hold this future for a while, so drop the engine."""
        self._abort = None
        self.set_result(None)
