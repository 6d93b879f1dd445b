"""Threads for sync work: a fan-out's own, as many as it needs at once, gone when it ends.

Not the default executor: that one is shared with the whole program, has its own size, and its
threads outlive the fan-out. A thread cannot be cancelled: whoever waits for it goes on waiting
until the function returns, for "ended" must mean ended (see `cancelled()`).
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from fanwise.kernel.virtual import outside

T = TypeVar("T")


class CancelFlag:
    """Whether a thread was asked to end; set on the event loop, read in the thread."""

    __slots__ = ("_callbacks", "_set")

    def __init__(self) -> None:
        self._set = False
        self._callbacks: list[Callable[[], object]] = []

    def __bool__(self) -> bool:
        return self._set

    def set(self) -> None:
        """Ask. On the event loop."""
        if not self._set:
            self._set = True
            for callback in self._callbacks:
                callback()

    def on_set(self, callback: Callable[[], object]) -> None:
        """Call this when it is asked, or now if it was. On the event loop."""
        self._callbacks.append(callback)
        if self._set:
            callback()


_flag: contextvars.ContextVar[CancelFlag | None] = contextvars.ContextVar(
    "fanwise_cancelled", default=None
)


def cancelled() -> bool:
    """Inside sync work: whether it was asked to end. Long loops should look now and then."""
    return bool(_flag.get())


def cancel_flag() -> CancelFlag | None:
    """The flag of the thread that runs this, if it is one of ours."""
    return _flag.get()


class EndedAnyway(asyncio.CancelledError):
    """Cancelled, but the thread could not be stopped and came to a value."""

    def __init__(self, value: Any) -> None:
        self.value = value
        super().__init__()


class _Job:
    __slots__ = ("context", "flag", "function", "future", "loop")

    def __init__(self, function: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.function = function
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.flag = CancelFlag()
        self.context = contextvars.copy_context()

    def perform(self) -> None:
        try:
            result = self.context.run(self._call)
        except BaseException as raised:
            self._report(self.future.set_exception, _storable(raised))
        else:
            self._report(self.future.set_result, result)

    def _call(self) -> Any:
        _flag.set(self.flag)
        return self.function()

    def _report(self, tell: Callable[[Any], None], what: Any) -> None:
        self.loop.call_soon_threadsafe(self._tell, tell, what)

    def _tell(self, tell: Callable[[Any], None], what: Any) -> None:
        outside(self.loop, -1)
        if not self.future.done():
            tell(what)


def _storable(error: BaseException) -> BaseException:
    """A future refuses StopIteration, which would otherwise vanish with the thread."""
    if not isinstance(error, StopIteration):
        return error
    wrapped = RuntimeError("the work raised StopIteration")
    wrapped.__cause__ = error
    return wrapped


class Threads:
    """A pool that grows to what is needed at once and is joined at the end."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._busy = 0

    async def run(self, function: Callable[[], T]) -> T:
        """Call it in a thread. If cancelled meanwhile: asks it to end, waits, then says so."""
        job = _Job(function, asyncio.get_running_loop())
        self._busy += 1
        outside(job.loop, +1)
        if self._busy > len(self._threads):
            self._add_thread()
        self._jobs.put(job)
        try:
            value: T = await self._wait(job)
            return value
        finally:
            self._busy -= 1

    async def _wait(self, job: _Job) -> Any:
        interrupted: asyncio.CancelledError | None = None
        while not job.future.done():
            try:
                await asyncio.shield(job.future)
            except asyncio.CancelledError as caught:
                interrupted = caught
                job.flag.set()
            except BaseException:
                break
        if interrupted is None:
            return job.future.result()
        # The thread has ended. What it gave or raised is told beside the cancellation.
        error = job.future.exception()
        if error is None:
            raise EndedAnyway(job.future.result())
        raise interrupted from error

    def _add_thread(self) -> None:
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.perform()
            del job  # an idle thread must not keep the last item alive

    def close(self) -> None:
        """End the threads. They are idle by now, so this takes no time."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()
