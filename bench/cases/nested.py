"""1,000 items that each fan out 10 more, all leaves under one shared cap: CPU time of a leaf.

The other is what one writes by hand: nested `gather`s and one shared semaphore.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

from bench.harness import Row, at_most, fresh, interleaved, ratio, seconds
from fanwise import Caps, fan_out

OUTER, INNER, CAP = 1_000, 10, 100
ROUNDS = 5
MOST_RATIO = 2.0


async def trivial(item: int) -> int:
    await asyncio.sleep(0)
    return item


def ours() -> float:
    async def outer(item: int) -> int:
        return len(await fan_out(trivial, range(INNER), cap=INNER, needs=lambda _: "leaf"))

    async def main() -> int:
        outcomes = await fan_out(outer, range(OUTER), cap=OUTER, caps=Caps(leaf=CAP))
        assert outcomes.stats.peak["leaf"] <= CAP
        return sum(outcomes.values())

    return _timed(main())


def gather() -> float:
    async def main() -> int:
        permits = asyncio.Semaphore(CAP)

        async def leaf(item: int) -> int:
            async with permits:
                return await trivial(item)

        async def outer(item: int) -> int:
            return len(await asyncio.gather(*map(leaf, range(INNER))))

        return sum(await asyncio.gather(*map(outer, range(OUTER))))

    return _timed(main())


def _timed(main: Coroutine[Any, Any, int]) -> float:
    began = time.process_time()
    leaves = asyncio.run(main)
    assert leaves == OUTER * INNER
    return time.process_time() - began


def measure() -> list[Row]:
    """Against nested gathers."""
    found = interleaved(
        {"ours": lambda: fresh(__name__, "ours"), "gather": lambda: fresh(__name__, "gather")},
        rounds=ROUNDS,
    )
    mine, theirs = _leaf(seconds(found["ours"])), _leaf(seconds(found["gather"]))
    case = "nested: CPU time of a leaf, against gather"
    return [at_most(case, mine, theirs, ratio(found["ours"], found["gather"]), MOST_RATIO)]


def _leaf(took: float) -> str:
    return f"{took / (OUTER * INNER) * 1e6:.1f} µs"
