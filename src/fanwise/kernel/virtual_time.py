"""An event loop whose time jumps: the real kernel, hours in milliseconds.

When nothing is ready the loop does not sleep: it sets its clock to the next timer. Work that is
outside of the loop (a thread, a child process, the journal's writer) cannot be hurried, so time
stands still while any is under way; the kernel says so with `outside`.

When nothing is ready, nothing is scheduled and nothing is outside, nothing can ever happen
again: a real loop would hang, this one raises.
"""

from __future__ import annotations

import asyncio
import math
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualDeadlock(RuntimeError):
    """Everything waits and nothing is scheduled."""


class _JumpingSelector(selectors.DefaultSelector):
    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if events or timeout == 0:
            return events
        if self.loop.outside > 0:
            return super().select(None)
        if timeout is None:
            # One file is the loop's own, by which other threads wake it.
            if len(self.get_map()) > 1:
                return super().select(None)
            raise VirtualDeadlock("everything waits and nothing is scheduled: a deadlock")
        self.loop.jump(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """`asyncio`'s own loop with another clock."""

    def __init__(self) -> None:
        selector = _JumpingSelector()
        selector.loop = self
        self.now = 0.0
        self.outside = 0
        """How much is under way outside of the loop; time stands still meanwhile."""
        super().__init__(selector)
        self.jump(0.0)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self.now

    def jump(self, timeout: float) -> None:
        """That far ahead.

        asyncio calls timers that are due within the clock's resolution. It must be above the
        rounding error of adding a time-out to the clock, or the loop would spin at a timer; and
        not far above, or what comes a moment later would come before its time.
        """
        self.now += timeout
        self._clock_resolution = max(1e-9, 8 * math.ulp(self.now))


def clock_of(loop: asyncio.AbstractEventLoop) -> Callable[[], float]:
    """What tells the loop's time: `loop.time`, or directly what asyncio's own loops ask.

    Each item asks three times.
    """
    plain = getattr(type(loop), "time", None) is asyncio.BaseEventLoop.time
    return time.monotonic if plain else loop.time


def outside(loop: asyncio.AbstractEventLoop, change: int) -> None:
    """Work outside of the loop begins (+1) or has ended (-1)."""
    if isinstance(loop, VirtualLoop):
        loop.outside += change


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run`, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
