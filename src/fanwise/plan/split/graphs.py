"""Import graphs: strongly connected parts, and a graph without cycles that stays without. Pure.

`Chains` knows what each node reaches (as the bits of a number, so that thousands of nodes are
compared in one step) and how long the longest chain before and after it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import compress
from typing import TypeVar

Key = TypeVar("Key", str, int)
HANDS = 10
"""Workers assumed for the schedule. Constant, so that a split does not depend on `max_parallel`."""
_BITS = bytes.maketrans(b"01", b"\0\1")


def components(graph: Mapping[Key, Collection[Key]]) -> list[list[Key]]:
    """Strongly connected parts, by Tarjan without recursion; a part comes after those it points to.

    The order depends on that of the graph's keys only: neighbours are taken in sorted order.
    """
    index: dict[Key, int] = {}
    low: dict[Key, int] = {}
    stack: list[Key] = []
    found: list[list[Key]] = []
    on_stack: set[Key] = set()
    for start in graph:
        if start in index:
            continue
        work: list[tuple[Key, Iterator[Key]]] = []
        _enter(start, graph, index, low, stack, on_stack, work)
        while work:
            node, neighbours = work[-1]
            for other in neighbours:
                if other not in index:
                    _enter(other, graph, index, low, stack, on_stack, work)
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    found.append(_leave(node, stack, on_stack))
    return found


def _enter(
    node: Key,
    graph: Mapping[Key, Collection[Key]],
    index: dict[Key, int],
    low: dict[Key, int],
    stack: list[Key],
    on_stack: set[Key],
    work: list[tuple[Key, Iterator[Key]]],
) -> None:
    index[node] = low[node] = len(index)
    stack.append(node)
    on_stack.add(node)
    work.append((node, iter(sorted(graph[node]))))


def _leave(node: Key, stack: list[Key], on_stack: set[Key]) -> list[Key]:
    place = stack.index(node)
    part = stack[place:]
    del stack[place:]
    on_stack.difference_update(part)
    return sorted(part)


class Chains:
    """Nodes by number; `befores[n]` are the nodes that must come before `n`."""

    def __init__(self, befores: Sequence[Collection[int]], work: Sequence[int]) -> None:
        """`befores` is in topological order."""
        count = len(befores)
        self.work = list(work)
        self.before = [set(each) for each in befores]
        self.after: list[set[int]] = [set() for _ in befores]
        self._below = [1 << place for place in range(count)]
        """For each node, the bits of its ancestors and its own."""
        self._head = [0] * count
        self._tail = [0] * count
        for place in range(count):
            for each in befores[place]:
                self.after[each].add(place)
                self._below[place] |= self._below[each]
            self._head[place] = self._longest(self.before[place], self._head)
        for place in reversed(range(count)):
            self._tail[place] = self._longest(self.after[place], self._tail)
        self._waiting = self._works_above()

    def least(self) -> int:
        """A lower bound for the duration of everything."""
        return max((self.time_through(place, place) for place in range(len(self.work))), default=0)

    def time_through(self, one: int, other: int) -> int:
        """A lower bound for the duration if the two were one node: before, themselves, after."""
        if one == other:
            return self._head[one] + self.work[one] + max(self._tail[one], self._waiting[one])
        if other in self.before[one]:
            one, other = other, one
        head, tail = self._head[other], self._tail[one]
        if one in self.before[other]:  # what stands between their ends is their own work
            if head <= self._head[one] + self.work[one]:
                head = self._longest(self.before[other] - {one}, self._head)
            if tail <= self._tail[other] + self.work[other]:
                tail = self._longest(self.after[one] - {other}, self._tail)
        after = max(self._tail[other], tail, self._waiting[one], self._waiting[other])
        return max(self._head[one], head) + self.work[one] + self.work[other] + after

    def _works_above(self) -> list[int]:
        """For each node, the work of all its descendants, divided among the workers.

        Joined nodes take the larger of the two values: most descendants wait for both anyway.
        """
        waiting = [0] * len(self.work)
        places = range(len(waiting))
        for place, bits in enumerate(self._below):
            work = self.work[place]
            for each in compress(places, bin(bits)[:1:-1].encode().translate(_BITS)):
                waiting[each] += work
            waiting[place] -= work
        return [each // HANDS for each in waiting]

    def makes_circle(self, one: int, other: int) -> bool:
        """Whether joining the two would close a cycle."""
        return self._around(one, other) or self._around(other, one)

    def _around(self, first: int, last: int) -> bool:
        """Whether a path other than the direct edge leads from `first` to `last`."""
        bit = 1 << first
        if not self._below[last] & bit:
            return False
        return any(self._below[each] & bit for each in self.before[last] if each != first)

    def join(self, one: int, other: int) -> None:
        for each in self.before[other]:
            self.after[each].discard(other)
            self.after[each].add(one)
        for each in self.after[other]:
            self.before[each].discard(other)
            self.before[each].add(one)
        self.before[one] |= self.before[other]
        self.after[one] |= self.after[other]
        self.before[one] -= {one, other}
        self.after[one] -= {one, other}
        self.work[one] += self.work[other]
        self.before[other], self.after[other] = set(), set()
        self._reach(one, other)
        self._waiting[one] = max(self._waiting[one], self._waiting[other])
        self._lengthen(one, self.before, self.after, self._head)
        self._lengthen(one, self.after, self.before, self._tail)
        self.work[other] = self._head[other] = self._tail[other] = 0

    def _reach(self, one: int, other: int) -> None:
        """Update what is reached by the descendants of the joined node."""
        both = self._below[one] | self._below[other]
        self._below[one] = both
        left = list(self.after[one])
        while left:
            place = left.pop()
            if self._below[place] | both != self._below[place]:
                self._below[place] |= both
                left += self.after[place]

    def _lengthen(
        self,
        start: int,
        sources: Sequence[Collection[int]],
        targets: Sequence[Collection[int]],
        lengths: list[int],
    ) -> None:
        """Chains only get longer: propagate the new lengths."""
        lengths[start] = self._longest(sources[start], lengths)
        left = [start]
        while left:
            place = left.pop()
            reached = lengths[place] + self.work[place]
            for each in targets[place]:
                if lengths[each] < reached:
                    lengths[each] = reached
                    left.append(each)

    def _longest(self, places: Collection[int], lengths: Sequence[int]) -> int:
        return max([lengths[each] + self.work[each] for each in places], default=0)


def befores(
    groups: Sequence[Sequence[str]], imports: Mapping[str, Sequence[str]]
) -> list[set[int]]:
    """For each group, the groups that it imports from."""
    owner = {path: place for place, files in enumerate(groups) for path in files}
    return [
        {owner[other] for path in files for other in imports.get(path, ())} - {place}
        for place, files in enumerate(groups)
    ]
