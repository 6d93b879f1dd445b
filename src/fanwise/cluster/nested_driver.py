"""Calls and fan-outs inside an item on a worker, as its driver performs them.

Each is a task in the context of the item, so that the kernel gives permits, reserves budget and
records by the same code as for an item in this process. Only the attempt itself is made there.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import pickle
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fanwise.cluster.link import DriverAnswer, Link, WorkerQuestion
from fanwise.cluster.shipping import pack, pack_error, unpack, unpack_error
from fanwise.errors import ClusterError
from fanwise.kernel.call import serve_call
from fanwise.kernel.events import WorkerEvent
from fanwise.kernel.fan_out import fan_out
from fanwise.kernel.home import CallEnd, CallRequest
from fanwise.kernel.open_item import OpenItem
from fanwise.kernel.patient_future import PatientFuture
from fanwise.kernel.scope import current
from fanwise.kernel.tasks import new_task
from fanwise.kernel.work import Attempter

if TYPE_CHECKING:
    from fanwise.cluster.pool import WorkerPool

GONE = ClusterError("the worker of this call is gone", "The item is given to another worker")


class _CallAway(PatientFuture[CallEnd]):
    """A call that runs on a worker. The cancellation of its item travels there by itself."""

    def interrupted(self, error: asyncio.CancelledError) -> None:
        return


class NestedOfItem:
    """What one attempt on a worker has asked for."""

    def __init__(self, pool: WorkerPool, item: OpenItem[Any, Any], link: Link) -> None:
        self._pool = pool
        self._item = item
        self._link = link
        self._context = contextvars.copy_context()
        self._context.run(current.set, item)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._running: dict[int, _CallAway] = {}
        """Calls that were granted."""
        self._then: Callable[[], None] | None = None

    def asked(self, question: WorkerQuestion) -> None:
        number = question.number
        if question.kind == "call":
            request: CallRequest = unpack(question.data, "the needs of a call")
            self._begin(number, self._call(number, request))
        elif question.kind == "fan_out":
            self._begin(number, self._fan_out(number, question.data))
        elif question.kind == "fetch":
            self._begin(number, self._fetch(number, question.data.decode()))
        elif question.kind == "ended":
            error, end = pickle.loads(question.data)
            self._ended(number, end if error is None else end._replace(error=unpack_error(error)))
        elif number in self._running:  # granted, and withdrawn before it knew
            self._ended(number, CallEnd(asyncio.CancelledError(), None, None, None, 0.0))
        elif number in self._tasks:
            self._tasks[number].cancel()

    def _begin(self, number: int, work: Coroutine[Any, Any, None]) -> None:
        task = new_task(work, self._pool.loop, self._context.copy())
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._over(number))

    def _over(self, number: int) -> None:
        del self._tasks[number]
        if not self._tasks and self._then is not None:
            self._then()

    def _ended(self, number: int, end: CallEnd) -> None:
        running = self._running.pop(number, None)
        if running is not None and not running.done():
            running.set_result(end)

    async def _call(self, number: int, request: CallRequest) -> None:
        async def grant() -> CallEnd:
            away = self._running[number] = _CallAway(loop=self._pool.loop)
            granted.append(True)
            self._link.answer(DriverAnswer(number, None, None))
            return await away

        granted: list[bool] = []
        try:
            await serve_call(self._item, request, self._link.name, grant)
        except BaseException as error:
            if not granted:
                self._link.answer(DriverAnswer(number, None, pack_error(error)))

    async def _fan_out(self, number: int, data: bytes) -> None:
        try:
            count, keys, needs, options = unpack(data, "an argument of a fan-out")
            place = _SameWorker(self._pool, self._link, number)
            outcomes = await fan_out(
                _never,
                range(count),
                key=None if keys is None else keys.__getitem__,
                needs=None if needs is None else needs.__getitem__,
                on=place,
                **options,
            )
            self._link.answer(DriverAnswer(number, pack(outcomes, "the outcomes"), None))
        except BaseException as error:
            self._link.answer(DriverAnswer(number, None, pack_error(error)))

    async def _fetch(self, number: int, name: str) -> None:
        """Through Ray's object store, which has it once for each machine, beside the exchange."""
        try:
            await self._pool.deliver(self._link, number, name)
        except BaseException as error:
            self._link.answer(DriverAnswer(number, None, pack_error(error)))

    def lost(self, then: Callable[[], None]) -> None:
        """The worker is gone: permits come back, and what a call cost is not known.

        `then` is called when nothing is left.
        """
        for number in [*self._running]:
            self._ended(number, CallEnd(GONE, None, None, None, 0.0))
        self._then = then
        for task in [*self._tasks.values()]:
            task.cancel()
        if not self._tasks:
            then()

    async def over(self) -> None:
        """Wait until all is recorded."""
        while self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([*self._tasks.values()])


async def _never(index: int) -> None:
    raise AssertionError(f"item {index} is performed on its worker")


class _SameWorker:
    """The place of a fan-out inside an item: the worker of that item."""

    def __init__(self, pool: WorkerPool, link: Link, number: int) -> None:
        self._pool = pool
        self._link = link
        self._number = number

    def start(self) -> None: ...

    def stop(self) -> None: ...

    @asynccontextmanager
    async def workers(self) -> AsyncIterator[_SameWorker]:
        yield self

    def attempter(self, work: Any, timeout: float | None) -> Attempter:
        async def attempt(index: int) -> Any:
            return await self._pool.perform_nested(self._link, self._number, index)

        return attempt

    def watch(self, told: Callable[[WorkerEvent], None]) -> Callable[[], None]:
        return lambda: None
