"""The order in which sub-plans would be done one at a time. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

from fanwise.plan.model.node import Node


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
