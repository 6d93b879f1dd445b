"""Items that may begin, held back until their queue has room for them.

An item that is already in the fan-out starts the moment another one ends, before anyone knows what
that one made ready. And an item that holds no permit itself, because only its calls do, occupies
the fan-out while it waits for a busy provider. In both cases it pays to let only some items in at a
time, the most urgent first. These are limits of whoever drives the fan-out, not caps: nobody
declares them, and they appear in no statistics.
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
    """`add` what may begin, `take` what there is room for, and say when one has `left`.

    `limit`: the queue of an item; None: it never waits. `rank`: of one queue the lowest goes first,
    and among equals the one that was added first. `drop`: asked when the turn of an item comes;
    True: it is not needed any more.
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
        """Queues that have got an item or some room since the last look; a dict for its order."""
        self._added = 0

    def add(self, items: Iterable[I]) -> None:
        """More items that may begin."""
        for item in items:
            limit = self._limit(item)
            waiting = self._waiting.setdefault(limit, [])
            heappush(waiting, (self._rank(item), self._added, item))
            self._added += 1
            self._changed[limit] = None

    def take(self) -> list[tuple[I, QueueLimit | None]]:
        """All that there is room for now, with the queue that each one occupies until it `left`."""
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
