"""How long items take on a cluster, by a model of it: nodes, dispatch by one driver, lost nodes.

The driver starts one item after the other; each start costs it `dispatch_s`. A node that is lost
is noticed after `SILENT_S`, and its items begin again where there is room; it comes back, with its
room, after `AWAY_S`. Pure: the same numbers give the same answer.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

import msgspec

SILENT_S = 2.0
"""As the driver notices it: see `cluster/link.py`."""
AWAY_S = 300.0
DISPATCH_S = 1 / 17_000
"""What the driver needs for an item: `python -m bench ray` on two cores."""


class ClusterModel(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster, and how much of it one driver uses."""

    nodes: int
    workers: int
    """On each node."""
    at_once: int = 64
    """Items that a worker has in flight."""
    most: int | None = None
    """The caps: items in flight in all."""
    mtbf_s: float | None = None
    """Seconds between two losses of one node, on average; None: none is lost."""
    dispatch_s: float = DISPATCH_S


class ClusterEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    seconds: float
    driver_busy: float
    """The part of the time in which the driver starts items; near 1 it is the bottleneck."""
    lost_nodes: int
    begun_again: int
    """Items that were on them."""


def estimate(
    model: ClusterModel, items: int, each_s: float, chance: Callable[[], float]
) -> ClusterEstimate:
    """Run so many items of this length on the cluster; `chance` gives numbers from 0 up to 1."""
    room = model.nodes * model.workers * model.at_once
    slots = min(room if model.most is None else min(room, model.most), items)
    down = [_loss(model, chance, 0.0) for _ in range(min(model.nodes, slots))]
    free = [(0.0, slot % model.nodes) for slot in range(slots)]
    heapq.heapify(free)
    driver = end = 0.0
    fresh, again = items, 0
    noticed: list[float] = []
    """When the driver learns of items that must begin again: after all the others."""
    lost: set[tuple[int, float]] = set()
    while fresh or noticed:
        at, node = heapq.heappop(free)
        if fresh:
            fresh -= 1
        else:
            at = max(at, heapq.heappop(noticed))
        driver = begun = max(driver, at) + model.dispatch_s
        over = begun + each_s
        while down[node] + AWAY_S < begun:  # it came back meanwhile
            down[node] = _loss(model, chance, down[node] + AWAY_S)
        if down[node] < over:
            lost.add((node, down[node]))
            again += 1
            seen = max(down[node], begun) + SILENT_S
            heapq.heappush(noticed, seen)
            heapq.heappush(free, (max(down[node] + AWAY_S, seen), node))
            continue
        end = max(end, over)
        heapq.heappush(free, (over, node))
    starts = items + again
    return ClusterEstimate(
        seconds=end,
        driver_busy=min(1.0, starts * model.dispatch_s / end) if end else 0.0,
        lost_nodes=len(lost),
        begun_again=again,
    )


def _loss(model: ClusterModel, chance: Callable[[], float], after: float) -> float:
    return math.inf if model.mtbf_s is None else after - model.mtbf_s * math.log(1 - chance())
