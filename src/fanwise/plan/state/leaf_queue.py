"""Which leaves may start, and which never will, after another one has ended. Pure.

It looks only at the leaves that come after the one that ended: a plan may have many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from fanwise.plan.model.node import Node, Tree
from fanwise.plan.state.leaf_entry import LeafEntry


class LeafQueue:
    """The queue of one tree. When the tree grows, the board makes a new queue."""

    def __init__(self, tree: Tree, entries: Mapping[str, LeafEntry]) -> None:
        self.order = tuple(one_at_a_time(tree.leaves))
        """As they would be done one at a time; without those in a circle."""
        self.turn = {leaf.id: number for number, leaf in enumerate(self.order)}
        """Where each is in that order."""
        self._place = {leaf.id: number for number, leaf in enumerate(tree.leaves)}
        self._entries = entries
        self._followers: dict[str, list[str]] = {}
        self._missing: dict[str, int] = {}
        """How many are not done that it comes after."""
        self._free: list[int] = []
        """The turns of those that could begin."""
        self._over = 0
        """All before this turn are over."""
        for leaf in self.order:
            self._join(leaf)

    def done(self, leaf: str) -> None:
        """Free the leaves that waited only for this one."""
        for follower in self._followers.get(leaf, ()):
            self._missing[follower] -= 1
            self._free_if_ready(follower)

    def failed(self, leaf: str) -> None:
        """What comes after it, also by way of others, is not begun."""
        turns: list[int] = []
        self._push_followers(turns, leaf)
        while turns:
            turn = heappop(turns)
            while turns and turns[0] == turn:
                heappop(turns)
            if self._skip(self.order[turn]):
                self._push_followers(turns, self.order[turn].id)

    def take(self, limit: int) -> list[Node]:
        """Those that are free and have their turn before the limit, in the order of the tree."""
        found = []
        while self._free and self._free[0] < limit:
            found.append(self.order[heappop(self._free)])
        return sorted(found, key=lambda leaf: self._place[leaf.id])

    def is_over(self, limit: int) -> bool:
        """Whether all that have their turn before the limit are over."""
        while self._over < limit and self._entries[self.order[self._over].id].over:
            self._over += 1
        return self._over >= limit

    def in_order(self, leaves: Iterable[str]) -> list[str]:
        """Those that are in the tree, in its order."""
        return sorted((each for each in leaves if each in self._place), key=self._place.__getitem__)

    # -- inside -----------------------------------------------------------------------------------

    def _join(self, leaf: Node) -> None:
        before = set(leaf.after)
        for each in before:
            self._followers.setdefault(each, []).append(leaf.id)
        self._missing[leaf.id] = sum(not self._entries[each].done for each in before)
        self._skip(leaf)
        self._free_if_ready(leaf.id)

    def _free_if_ready(self, leaf: str) -> None:
        if not self._missing[leaf] and self._entries[leaf].fresh:
            heappush(self._free, self.turn[leaf])

    def _push_followers(self, turns: list[int], leaf: str) -> None:
        for follower in self._followers.get(leaf, ()):
            heappush(turns, self.turn[follower])

    def _skip(self, leaf: Node) -> bool:
        """Note the failure that keeps it from beginning; return whether that is news."""
        entry = self._entries[leaf.id]
        if entry.begun:
            return False
        others = [self._entries[each] for each in leaf.after]
        failed = (o.node.id if o.lost else o.skipped_by for o in others)
        # Of several the first, whichever was told first: so it is looked up every time.
        first = next((each for each in failed if each is not None), None)
        news, entry.skipped_by = first != entry.skipped_by, first
        return news


def one_at_a_time(leaves: Sequence[Node]) -> Iterator[Node]:
    """Each after all that it comes after; of those that could be next, the first that is given.

    Leaves that come after one another in a circle are not in it.
    """
    place = {leaf.id: number for number, leaf in enumerate(leaves)}
    missing = [len(set(leaf.after)) for leaf in leaves]
    followers: dict[str, list[int]] = {}
    for number, leaf in enumerate(leaves):
        for each in set(leaf.after):
            followers.setdefault(each, []).append(number)
            missing[number] -= each not in place
    ready = [number for number, count in enumerate(missing) if not count]
    heapify(ready)
    while ready:
        leaf = leaves[heappop(ready)]
        yield leaf
        for number in followers.get(leaf.id, ()):
            missing[number] -= 1
            if not missing[number]:
                heappush(ready, number)
