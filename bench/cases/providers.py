"""Five providers with a cap of 4 each: does a slow provider hold up the others?

A pool of 20 threads, or a window of 20 items, fills up with items that wait for the first
provider, while four others idle. The lower bound is the work of the busiest provider over its
cap. In virtual time the schedules are compared exactly; the real run, a fortieth of the time,
shows that the kernel keeps up with its schedule.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.harness import Row, at_most
from bench.latencies import EACH_CAP, MEDIANS_S, Call, calls, least_seconds, ours, pretend
from fanwise.kernel.virtual_time import run_virtual

TOTAL_CAP = EACH_CAP * len(MEDIANS_S)
SCALE = 1 / 40
BOUND = 1.05


async def window(items: list[Call]) -> float:
    """At most 20 begun at once, in order; each then waits for its provider."""
    total = asyncio.Semaphore(TOTAL_CAP)
    permits = {name: asyncio.Semaphore(EACH_CAP) for name in MEDIANS_S}
    began = asyncio.get_running_loop().time()

    async def one(call: Call) -> None:
        async with total, permits[call.provider]:
            await pretend(call)

    await asyncio.gather(*map(one, items))
    return asyncio.get_running_loop().time() - began


def threads(items: list[Call]) -> float:
    """A pool of 20 threads, each of which takes its provider's semaphore."""
    permits = {name: threading.Semaphore(EACH_CAP) for name in MEDIANS_S}

    def one(call: Call) -> None:
        with permits[call.provider]:
            time.sleep(call.seconds)

    began = time.perf_counter()
    with ThreadPoolExecutor(TOTAL_CAP) as pool:
        list(pool.map(one, items))
    return time.perf_counter() - began


def measure() -> list[Row]:
    """Everything as a multiple of the lower bound."""
    items, scaled = calls(), calls(SCALE)
    least, least_scaled = (least_seconds(each, EACH_CAP, TOTAL_CAP) for each in (items, scaled))
    virtual = {"in-order window": _virtual(window(items))}
    real = {
        "thread pool + semaphores": threads(scaled),
        "in-order window": asyncio.run(window(scaled)),
    }
    return [
        _row("virtual", _virtual(ours(items, TOTAL_CAP)), virtual, least),
        _row("real", asyncio.run(ours(scaled, TOTAL_CAP)), real, least_scaled),
    ]


def _virtual(main: Coroutine[Any, Any, float]) -> float:
    return run_virtual(main)


def _row(clock: str, took: float, others: dict[str, float], least: float) -> Row:
    beside = ", ".join(f"{name} {other / least:.2f} x" for name, other in others.items())
    mine = f"{took:.2f} s"
    return at_most(f"providers, {clock} time: the lower bound", mine, beside, took / least, BOUND)
