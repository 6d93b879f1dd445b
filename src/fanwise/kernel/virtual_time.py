"""An event loop with virtual time: the real kernel runs hours in milliseconds.

When nothing is ready, the loop does not sleep but sets its clock to the next timer. Work outside
the loop (a thread, a child process, the journal's writer) cannot be sped up, so time stands still
while there is any. The kernel reports such work with `outside`.

When nothing is ready, scheduled or outside, nothing can ever happen again. A real loop would hang;
this one raises.
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
    """Everything waits, and nothing is scheduled."""


class _JumpingSelector(selectors.DefaultSelector):
    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if events or timeout == 0:
            return events
        if self.loop.outside > 0:
            return super().select(None)
        if timeout is None:
            # One file is the loop's own, with which other threads wake it.
            if len(self.get_map()) > 1:
                return super().select(None)
            raise VirtualDeadlock("everything waits and nothing is scheduled: a deadlock")
        self.loop.jump(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop with a different clock."""

    def __init__(self) -> None:
        selector = _JumpingSelector()
        selector.loop = self
        self.now = 0.0
        self._blocked = (0.0, 0.0)
        self.outside = 0
        """Amount of work outside the loop. Time stands still while there is any."""
        super().__init__(selector)
        self.jump(0.0)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self.now

    def block(self, seconds: float) -> None:
        """Let time pass as if the loop had computed that long, for tests of a busy process."""
        self.jump(seconds)
        self._blocked = (self.now, seconds)

    @property
    def lag(self) -> float:
        """Seconds by which the loop is late: how long it was blocked until this moment."""
        until, seconds = self._blocked
        return seconds if until == self.now else 0.0

    def jump(self, timeout: float) -> None:
        """Move the clock ahead.

        asyncio calls timers that are due within the clock's resolution. That must be above the
        rounding error of adding a time-out to the clock, or the loop would spin on a timer. But not
        far above it, or a timer that is due a moment later would be called too early.
        """
        self.now += timeout
        self._clock_resolution = max(1e-9, 8 * math.ulp(self.now))


def clock_of(loop: asyncio.AbstractEventLoop) -> Callable[[], float]:
    """The function that tells the loop's time: `loop.time`, or what asyncio's own loops call.

    It matters because every item asks for the time three times.
    """
    plain = getattr(type(loop), "time", None) is asyncio.BaseEventLoop.time
    return time.monotonic if plain else loop.time


def outside(loop: asyncio.AbstractEventLoop, change: int) -> None:
    """Work outside the loop begins (+1) or has ended (-1)."""
    if isinstance(loop, VirtualLoop):
        loop.outside += change


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run`, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
