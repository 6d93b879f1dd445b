"""Threads for sync work: a fan-out's own, as many as it needs at once, gone when it ends.

Not the default executor: the whole program shares it, it has a size of its own, and its threads
outlive the fan-out. A thread cannot be cancelled, so whoever waits for one keeps waiting until the
function returns: "ended" must mean ended. Long functions can ask `cancelled()` now and then.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from fanwise.kernel.inbox import Inbox
from fanwise.kernel.patient_future import PatientFuture

T = TypeVar("T")


def cancelled() -> bool:
    """Inside sync work: whether it should end. Long loops should check this now and then.

    Work that got True counts as cancelled, whatever it returns: a resume runs it again.
    """
    call = _current.get()
    if call is None or call.interruption is None:
        return False
    call.was_told = True
    return True


def current_call() -> ThreadCall | None:
    """The call that runs in this thread, if it is one of ours."""
    call = _current.get()
    return call if isinstance(call, ThreadCall) else None


class EndedAnyway(asyncio.CancelledError):
    """Cancelled, but the thread could not be stopped and returned a value.

    `was_told`: the function knew that it should end, so its value may be incomplete.
    """

    def __init__(self, value: Any, was_told: bool) -> None:
        self.value = value
        self.was_told = was_told
        super().__init__()


class Interruptible:
    """A call of a sync function that can be asked to end."""

    interruption: asyncio.CancelledError | None = None
    """Set by another thread when the function should end; read in the function's."""
    was_told = False
    """Whether the function asked `cancelled()` and got True."""

    def interrupt(self) -> None:
        self.interruption = asyncio.CancelledError()


@contextmanager
def running_call(call: Interruptible) -> Iterator[None]:
    """Inside this block `cancelled()` is about this call."""
    before = _current.set(call)
    try:
        yield
    finally:
        _current.reset(before)


class ThreadCall(PatientFuture[None], Interruptible):
    """One call in a thread: done when the function has returned or raised."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, function: Callable[..., Any], args: tuple[Any, ...]
    ) -> None:
        super().__init__(loop=loop)
        self._function = function
        self._args = args
        self._context = contextvars.copy_context()
        self._on_interruption: tuple[Callable[[], object], ...] = ()
        self._value: Any = None
        self._error: BaseException | None = None

    def perform(self) -> None:
        """Call the function, in the thread that this runs in."""
        try:
            self._value = self._context.run(self._call)
        except BaseException as raised:
            self._error = raised

    def _call(self) -> Any:
        _current.set(self)
        return self._function(*self._args)

    def interrupted(self, error: asyncio.CancelledError) -> None:
        """Ask the function to end."""
        if self.interruption is None:
            for callback in self._on_interruption:
                callback()
        self.interruption = error

    def on_interruption(self, callback: Callable[[], object]) -> None:
        """Call this when the function should end, or now if it should already. On the loop."""
        self._on_interruption += (callback,)
        if self.interruption is not None:
            callback()

    def result_of_call(self) -> Any:
        """The value or the error; after an interruption, that with the value or error in it."""
        value, error = self._value, self._error
        # An error's traceback will hold this call, and the loop holds it for a while.
        del self._function, self._args, self._context, self._value, self._error
        if self.interruption is not None:
            if error is None:
                raise EndedAnyway(value, self.was_told)
            raise self.interruption from error
        if error is not None:
            raise error
        return value


_current: contextvars.ContextVar[Interruptible | None] = contextvars.ContextVar(
    "fanwise_thread_call", default=None
)


class Threads:
    """A pool that grows to what is needed at once and is joined at the end."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: queue.SimpleQueue[ThreadCall | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._busy = 0
        self._ended: Inbox[ThreadCall] | None = None

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """Call the function in a thread. If cancelled: ask it to end, wait for that, then raise."""
        try:
            return await self.call(function, *args)
        except EndedAnyway:
            # `asyncio.timeout` makes a TimeoutError of this class only, not of its subclasses.
            raise asyncio.CancelledError from None

    async def call(self, function: Callable[..., T], *args: Any) -> T:
        """As `run`, but raise `EndedAnyway` if the function returned a value meanwhile."""
        call = self._begin(function, *args)
        try:
            await call
        except asyncio.CancelledError as error:  # it came when the thread had ended
            call.interrupted(error)
        finally:
            self._busy -= 1
        value: T = call.result_of_call()
        return value

    def _begin(self, function: Callable[..., T], *args: Any) -> ThreadCall:
        """Give the call to a thread. Whoever waits for it lowers `_busy` afterwards."""
        loop = asyncio.get_running_loop()
        call = ThreadCall(loop, function, args)
        if self._ended is None:
            self._ended = Inbox(loop, _has_ended)
        self._ended.expect()
        self._busy += 1
        if self._busy > len(self._threads):
            self._add_thread(self._ended)
        self._calls.put(call)
        return call

    def submit(self, function: Callable[..., T], then: Callable[[T], object]) -> None:
        """Call the function in a thread, then `then` with its value on the loop. No waiting."""

        def ended(call: asyncio.Future[None]) -> None:
            self._busy -= 1
            assert isinstance(call, ThreadCall)
            then(call.result_of_call())

        self._begin(function).add_done_callback(ended)

    def _add_thread(self, ended: Inbox[ThreadCall]) -> None:
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._work, args=[ended], name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self, ended: Inbox[ThreadCall]) -> None:
        while (call := self._calls.get()) is not None:
            call.perform()
            with suppress(RuntimeError):  # the loop is closed: nobody waits for it
                ended.put(call)
            del call  # an idle thread must not keep the last item alive

    def close(self) -> None:
        """End the threads. They are idle by now, so this takes no time."""
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()


def _has_ended(call: ThreadCall) -> None:
    call.set_result(None)
