"""Items that could start, held back until their queue has room.

An item in the fan-out starts as soon as another one ends, before that outcome can make a more
urgent item ready. And an item whose calls hold the permits, not the item itself, occupies the
fan-out while it waits for a busy provider. In both cases it pays to let in only a few items at a
time, the most urgent first. These limits belong to the driver of the fan-out. They are not caps:
nobody declares them, and no statistics show them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Generic, NamedTuple, TypeVar

I = TypeVar("I")  # noqa: E741


class QueueLimit(NamedTuple):
    """Which queue an item waits in, and how many of that queue may be in the fan-out at once."""

    queue: str
    most: int


class ReadyQueue(Generic[I]):
    """`add` items that could start, `take` those there is room for, and report when one has `left`.

    `limit`: the queue of an item; None: it never waits. `rank`: in each queue the lowest goes
    first, among equals the one that was added first. `drop`: called when an item's turn comes;
    True: it is no longer needed.
    """

    def __init__(
        self,
        limit: Callable[[I], QueueLimit | None],
        rank: Callable[[I], float],
        drop: Callable[[I], bool],
    ) -> None:
        self._limit = limit
        self._rank = rank
        self._drop = drop
        self._waiting: dict[QueueLimit | None, list[tuple[float, int, I]]] = {}
        self._inside: Counter[str] = Counter()
        self._changed: dict[QueueLimit | None, None] = {}
        """Queues that got an item or room since the last `take`; a dict keeps their order."""
        self._added = 0

    def add(self, items: Iterable[I]) -> None:
        """Add items that could start."""
        for item in items:
            limit = self._limit(item)
            waiting = self._waiting.setdefault(limit, [])
            heappush(waiting, (self._rank(item), self._added, item))
            self._added += 1
            self._changed[limit] = None

    def take(self) -> list[tuple[I, QueueLimit | None]]:
        """Every item there is room for now, with the queue that it occupies until it `left`."""
        found: list[tuple[I, QueueLimit | None]] = []
        for limit in self._changed:
            waiting = self._waiting.get(limit, [])
            while waiting and (limit is None or self._inside[limit.queue] < limit.most):
                item = heappop(waiting)[2]
                if self._drop(item):
                    continue
                if limit is not None:
                    self._inside[limit.queue] += 1
                found.append((item, limit))
        self._changed.clear()
        return found

    def left(self, limit: QueueLimit | None) -> None:
        """An item of this queue has ended."""
        if limit is not None:
            self._inside[limit.queue] -= 1
            self._changed[limit] = None
