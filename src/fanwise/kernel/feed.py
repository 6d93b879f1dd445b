"""Items that are added while the fan-out runs: what comes next depends on what came back.

A loop that reads outcomes from `fan_out_stream` and answers each with further items would need a
queue of its own between the two; this is that queue, so that nobody else makes one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
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
        self._tell: Callable[[], None] | None = None

    def __len__(self) -> int:
        """How many wait to be taken."""
        return len(self._items)

    def add(self, *items: I) -> None:
        """More items, behind those that are there."""
        if self._closed and items:
            raise UsageError("the feed is closed", "Add items before you close it")
        self._items.extend(items)
        self._news()

    def close(self) -> None:
        """There are no more items than those that were added."""
        self._closed = True
        self._news()

    def _news(self) -> None:
        if self._tell is not None:
            self._tell()

    # -- for the kernel ---------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Whether nothing is in it, and nothing will be."""
        return self._closed and not self._items

    def take(self) -> I:
        """The next item; there must be one."""
        return self._items.popleft()

    def join(self, tell: Callable[[], None]) -> None:
        """Who is told when there is news. One fan-out may take from a feed."""
        if self._tell is not None:
            raise UsageError("the feed has a fan-out already", "Make a feed for each")
        self._tell = tell
