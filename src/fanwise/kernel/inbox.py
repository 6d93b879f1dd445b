"""Passing things from other threads to the event loop, with one wake-up for many of them.

Waking a loop costs two system calls, which is more than the work of a small item.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from fanwise.kernel.virtual_time import VirtualLoop, outside

T = TypeVar("T")


class Inbox(Generic[T]):
    """`put` things from any thread; `take` is called with each, in order, on the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, take: Callable[[T], None]) -> None:
        self._loop = loop
        self._virtual = isinstance(loop, VirtualLoop)
        self._take = take
        self._things: deque[T] = deque()
        self._woken = False

    def expect(self) -> None:
        """Announce one thing: virtual time stands still until it is here."""
        if self._virtual:
            outside(self._loop, +1)

    def put(self, thing: T) -> None:
        self._things.append(thing)
        if not self._woken:
            self._woken = True
            self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        # Reset this first, so that whatever comes from now on wakes the loop again.
        self._woken = False
        while self._things:
            thing = self._things.popleft()
            if self._virtual:
                outside(self._loop, -1)
            self._take(thing)
