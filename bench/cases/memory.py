"""What it costs to fan out 100,000 items that do nothing but yield once, 100 at a time.

The work is nothing, so the time is all overhead: of tasks, permits, queues, records. Nobody waits
for anything and there is one thread, so it is the processor's time that is taken: a neighbour on
the same core does not count. Everything is imported before the memory is first looked at, so
that only the fan-out itself counts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from functools import partial
from typing import Any

import aiometer
import anyio

from bench.harness import Measured, Row, at_most, fresh, interleaved, megabytes, ratio, seconds
from fanwise import fan_out

CAP = 100
ITEMS = 100_000
ROUNDS = 5


async def trivial(item: int) -> int:
    await asyncio.sleep(0)
    return item


def ours(items: int) -> float:
    async def main() -> list[int]:
        return (await fan_out(trivial, range(items), cap=CAP)).values()

    return _timed(main(), items)


def in_tenths(items: int) -> float:
    """A tenth of the items, ten times: as long, and as much disturbed, as all of them at once."""
    return sum(ours(items // 10) for _ in range(10)) / 10


def gather(items: int) -> float:
    async def main() -> list[int]:
        permits = asyncio.Semaphore(CAP)

        async def one(item: int) -> int:
            async with permits:
                return await trivial(item)

        return await asyncio.gather(*(one(item) for item in range(items)))

    return _timed(main(), items)


def meter(items: int) -> float:
    async def main() -> list[int]:
        jobs = [partial(trivial, item) for item in range(items)]
        return await aiometer.run_all(jobs, max_at_once=CAP)

    return _timed(main(), items)


def limiter(items: int) -> float:
    async def main() -> list[int]:
        permits = anyio.CapacityLimiter(CAP)
        values = [-1] * items

        async def one(item: int) -> None:
            async with permits:
                values[item] = await trivial(item)

        async with anyio.create_task_group() as group:
            for item in range(items):
                group.start_soon(one, item)
        return values

    return _timed(main(), items)


def _timed(main: Coroutine[Any, Any, list[int]], items: int) -> float:
    began = time.process_time()
    values = asyncio.run(main)
    took = time.process_time() - began
    assert values == list(range(items))
    return took


def measure() -> list[Row]:
    """Against three ways of doing it by hand; and against ourselves with a tenth of the items."""
    found = interleaved(
        {
            "gather": lambda: _fresh("gather", ITEMS),
            "fewer": lambda: _fresh("in_tenths", ITEMS),
            "ours": lambda: _fresh("ours", ITEMS),
            "aiometer": lambda: _fresh("meter", ITEMS),
            "anyio": lambda: _fresh("limiter", ITEMS),
        },
        rounds=ROUNDS,
    )
    mine = found["ours"]
    ours_mb, gather_mb = megabytes(mine), megabytes(found["gather"])
    return [
        _time("Semaphore + gather", mine, found["gather"], 0.6),
        _time("aiometer", mine, found["aiometer"], 0.33),
        _time("anyio limiter + task group", mine, found["anyio"], 0.25),
        at_most(
            "memory: peak, against Semaphore + gather",
            f"{ours_mb:.0f} MB",
            f"{gather_mb:.0f} MB",
            ours_mb / gather_mb,
            0.5,
        ),
        _growth(mine, found["fewer"]),
    ]


def _fresh(contender: str, items: int) -> Measured:
    return fresh(__name__, contender, items)


def _time(other: str, mine: list[Measured], theirs: list[Measured], bound: float) -> Row:
    a, b = _each(seconds(mine)), _each(seconds(theirs))
    return at_most(f"memory: CPU time, against {other}", a, b, ratio(mine, theirs), bound)


def _growth(many: list[Measured], few: list[Measured]) -> Row:
    a, b = f"{seconds(many):.2f} s", f"{seconds(few):.2f} s"
    return at_most(
        f"memory: CPU time, {ITEMS // 10:,} -> {ITEMS:,} items", a, b, ratio(many, few), 11
    )


def _each(seconds: float) -> str:
    return f"{seconds / ITEMS * 1e6:.1f} µs/item"
