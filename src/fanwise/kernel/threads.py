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

from fanwise.kernel.inbox import Inbox
from fanwise.kernel.patient_future import PatientFuture

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


class _Job(PatientFuture[None]):
    """One call in a thread: done when the thread has ended it, with a value or an error."""

    interruption: asyncio.CancelledError | None = None

    def __init__(
        self, loop: asyncio.AbstractEventLoop, function: Callable[..., Any], args: tuple[Any, ...]
    ) -> None:
        super().__init__(loop=loop)
        self._function = function
        self._args = args
        self._flag = CancelFlag()
        self._context = contextvars.copy_context()
        self.value: Any = None
        self.error: BaseException | None = None

    def perform(self) -> None:
        try:
            self.value = self._context.run(self._call)
        except BaseException as raised:
            self.error = raised

    def _call(self) -> Any:
        _flag.set(self._flag)
        return self._function(*self._args)

    def interrupted(self, error: asyncio.CancelledError) -> None:
        """Ask the thread to end."""
        self.interruption = error
        self._flag.set()

    def result_of_call(self) -> Any:
        """The value or the error; if it was interrupted, these beside the cancellation."""
        value, error = self.value, self.error
        # An error's traceback will hold this job, and the loop holds it for a while.
        del self._function, self._args, self._context, self.value, self.error
        if self.interruption is not None:
            if error is None:
                raise EndedAnyway(value)
            raise self.interruption from error
        if error is not None:
            raise error
        return value


class Threads:
    """A pool that grows to what is needed at once and is joined at the end."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._busy = 0
        self._ended: Inbox[_Job] | None = None

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """Call it in a thread. If cancelled meanwhile: asks it to end, waits, then says so."""
        loop = asyncio.get_running_loop()
        job = _Job(loop, function, args)
        if self._ended is None:
            self._ended = Inbox(loop, _has_ended)
        self._ended.expect()
        self._busy += 1
        if self._busy > len(self._threads):
            self._add_thread(self._ended)
        self._jobs.put(job)
        try:
            await job
        except asyncio.CancelledError as error:  # it came when the thread had ended
            job.interrupted(error)
        finally:
            self._busy -= 1
        value: T = job.result_of_call()
        return value

    def _add_thread(self, ended: Inbox[_Job]) -> None:
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._work, args=[ended], name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self, ended: Inbox[_Job]) -> None:
        while (job := self._jobs.get()) is not None:
            job.perform()
            ended.put(job)
            del job  # an idle thread must not keep the last item alive

    def close(self) -> None:
        """End the threads. They are idle by now, so this takes no time."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()


def _has_ended(job: _Job) -> None:
    job.set_result(None)
