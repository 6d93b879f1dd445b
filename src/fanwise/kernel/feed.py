"""Items that are added while the fan-out runs: what comes next depends on what came back.

A loop that reads outcomes from `fan_out_stream` and answers each with further items would need a
queue of its own between the two; this is that queue, so that nobody else makes one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import Generic, TypeVar

from fanwise.errors import UsageError

I = TypeVar("I")  # noqa: E741


class Feed(Generic[I]):
    """Give it to a fan-out as its items, `add` to it, and `close` it when there are no more.

    Not closed, the fan-out waits for more items. Use it on the event loop of its fan-out.
    """

    def __init__(self, items: Iterable[I] = ()) -> None:
        self._items = deque(items)
        self._closed = False
        self._news: asyncio.Future[None] | None = None

    def add(self, *items: I) -> None:
        """More items, behind those that are there."""
        if self._closed and items:
            raise UsageError("the feed is closed", "Add items before you close it")
        self._items.extend(items)
        self._wake()

    def close(self) -> None:
        """There are no more items than those that were added."""
        self._closed = True
        self._wake()

    def __aiter__(self) -> AsyncIterator[I]:
        return self

    async def __anext__(self) -> I:
        while not self._items:
            if self._closed:
                raise StopAsyncIteration
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        return self._items.popleft()

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
