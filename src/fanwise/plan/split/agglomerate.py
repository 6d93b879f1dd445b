"""Join what belongs together, the closest first, as long as it may be joined. Pure.

How close two groups are: the weight between them, divided by their sizes. Without the division a
group that has begun to grow takes everything; with it, all grow alike.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

Weights = Sequence[dict[int, float]]
"""Of each thing its neighbours, with how much they have to do with one another; both ways."""


class Merge(NamedTuple):
    """The group `other` became a part of the group `one`."""

    one: int
    other: int


def agglomerate(
    weights: Weights,
    sizes: Sequence[float],
    may: Callable[[int, int], bool],
    join: Callable[[int, int], None],
) -> list[Merge]:
    """Join groups; `may` and `join` are asked and told with one member's number for each.

    What was refused is looked at again when one of the two has grown.
    """
    near = [dict(each) for each in weights]
    size = list(sizes)
    version = [0] * len(near)
    gone = [False] * len(near)
    heap: list[tuple[float, int, int, int]] = []

    def offer(one: int, other: int) -> None:
        if one > other:
            one, other = other, one
        closeness = near[one][other] / (size[one] * size[other])
        heapq.heappush(heap, (-closeness, one, other, version[one] + version[other]))

    for one, others in enumerate(near):
        for other in others:
            if one < other:
                offer(one, other)
    merges = []
    while heap:
        _, one, other, at = heapq.heappop(heap)
        if gone[one] or gone[other] or at != version[one] + version[other]:
            continue
        if not may(one, other):
            continue
        join(one, other)
        merges.append(Merge(one, other))
        gone[other] = True
        size[one] += size[other]
        version[one] += 1
        _inherit(near, one, other)
        for each in near[one]:
            offer(one, each)
    return merges


def _inherit(near: list[dict[int, float]], one: int, other: int) -> None:
    """Let the neighbours of `other` be those of `one`."""
    for each, weight in near[other].items():
        if each == one:
            continue
        near[one][each] = near[one].get(each, 0.0) + weight
        near[each][one] = near[one][each]
        del near[each][other]
    near[one].pop(other, None)
    near[other] = {}
