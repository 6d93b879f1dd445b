"""Items that are added while the fan-out runs, because they depend on earlier outcomes.

A loop that reads outcomes from `fan_out_stream` and adds items in return needs a queue between the
two. This is that queue, so that nobody has to make one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from fanwise.errors import UsageError

I = TypeVar("I")  # noqa: E741


class Feed(Generic[I]):
    """Pass it to a fan-out as its items, `add` to it, and `close` it when there are no more.

    Until it is closed, the fan-out waits for more items. Use it on the event loop of its fan-out.
    `starts_with_call`: which items have no effect but through `call`. Their start is recorded
    before their first call is made, and not while it waits for permits: after a kill, only those
    that had made it may have run twice.
    """

    def __init__(
        self, items: Iterable[I] = (), *, starts_with_call: Callable[[I], bool] | None = None
    ) -> None:
        self.starts_with_call = starts_with_call
        self._items = deque(items)
        self._closed = False
        self._tell: Callable[[], None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        """How many items wait to be pulled."""
        return len(self._items)

    def add(self, *items: I) -> None:
        """Add items at the end."""
        if self._closed and items:
            raise UsageError("the feed is closed", "Add items before you close it")
        self._check_thread("add")
        self._items.extend(items)
        self._news()

    def close(self) -> None:
        """There will be no more items."""
        self._check_thread("close")
        self._closed = True
        self._news()

    def _check_thread(self, what: str) -> None:
        loop = self._loop
        if loop is not None and loop.is_running() and asyncio._get_running_loop() is not loop:
            step = f"Call it on the event loop: loop.call_soon_threadsafe(feed.{what}, …)"
            raise UsageError("the feed was used from another thread", step)

    def _news(self) -> None:
        if self._tell is not None:
            self._tell()

    # -- for the kernel ---------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Whether it is closed and empty."""
        return self._closed and not self._items

    def take(self) -> I:
        """Remove and return the next item; there must be one."""
        return self._items.popleft()

    def join(self, tell: Callable[[], None]) -> None:
        """Call this when items are added or the feed is closed. A feed serves one fan-out."""
        if self._tell is not None:
            raise UsageError("the feed has a fan-out already", "Make a feed for each")
        self._tell = tell
        self._loop = asyncio.get_running_loop()
