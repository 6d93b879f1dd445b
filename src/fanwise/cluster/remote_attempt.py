"""One attempt that a worker performs, as the item that waits for it sees it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from fanwise.cluster.link import AttemptEnd, Link
from fanwise.cluster.shipping import unpack, unpack_error
from fanwise.kernel import meter
from fanwise.kernel.open_item import OpenItem
from fanwise.kernel.patient_future import PatientFuture

if TYPE_CHECKING:
    from fanwise.cluster.nested_driver import NestedOfItem
    from fanwise.cluster.pool import WorkerPool


class RemoteAttempt(PatientFuture[None]):
    """One attempt that a worker performs; a cancellation travels there, and its end back."""

    def __init__(
        self, pool: WorkerPool, number: int, work: tuple[bytes, bytes], item: bytes, timed_by: Any
    ) -> None:
        super().__init__(loop=pool.loop)
        self._pool = pool
        self.number = number
        self.work = work
        self.item = item
        self.of: OpenItem[Any, Any] | None = timed_by
        self.link: Link | None = None
        self.nested: NestedOfItem | None = None
        """What it has asked for."""
        self.pinned = False
        """Whether it must be made by the worker of the item around."""
        self.lost: tuple[str, ...] = ()
        """The workers that died with it."""
        self.interruption: asyncio.CancelledError | None = None
        self.end: AttemptEnd | None = None
        self.error: BaseException | None = None

    def interrupted(self, error: asyncio.CancelledError) -> None:
        self.interruption = error
        self._pool.cancel(self)

    def over(self, end: AttemptEnd | None, error: BaseException | None = None) -> None:
        self.end, self.error = end, error
        if not self.done():
            self.set_result(None)

    def report(self) -> None:
        """What the worker measured: for the item's attempt, and for the meter of a call."""
        end = self.end
        if end is None or self.link is None:
            return
        by = meter.Elsewhere(self.link.name, end.ran_s, end.lag_s, end.in_flight)
        if not meter.made_elsewhere(by) and self.of is not None:
            self.of.elsewhere = by
        if end.first_token_s is not None:
            meter.first_token(end.first_token_s)
        if end.usage is not None:
            meter.spent(end.usage)

    def outcome(self) -> Any:
        """The value, or the error that is raised."""
        end, error = self.end, self.error
        self.end = self.error = self.of = self.nested = None  # an error's traceback will hold this
        if end is None:
            raise error or self.interruption or asyncio.CancelledError
        if end.error is not None:
            found = unpack_error(end.error)
            if self.interruption is None:
                raise found
            cause = found.__cause__ if isinstance(found, asyncio.CancelledError) else found
            raise self.interruption from cause
        assert end.value is not None
        return unpack(end.value, "the value")
