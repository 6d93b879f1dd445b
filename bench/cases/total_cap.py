"""Eight slots in all, over five providers with a cap of 4 each: who should go first?

With first come first served the last provider is left to run alone at the end, four slots idle.
The kernel takes from the provider with the longest remaining work, which it estimates from what
has run. The lower bound is the whole work over eight, or the busiest provider's over four.
"""

from __future__ import annotations

import asyncio

from bench.harness import Row, at_most
from bench.latencies import EACH_CAP, MEDIANS_S, Call, calls, least_seconds, ours, pretend
from fanwise.kernel.virtual_time import run_virtual

TOTAL_CAP = 8
BOUND = 1.05


async def fifo(items: list[Call]) -> float:
    """First come first served at each provider, then at the total: nobody blocks another."""
    total = asyncio.Semaphore(TOTAL_CAP)
    permits = {name: asyncio.Semaphore(EACH_CAP) for name in MEDIANS_S}
    began = asyncio.get_running_loop().time()

    async def one(call: Call) -> None:
        async with permits[call.provider], total:
            await pretend(call)

    await asyncio.gather(*map(one, items))
    return asyncio.get_running_loop().time() - began


def measure() -> list[Row]:
    """In virtual time: only the order is at stake."""
    items = calls()
    least = least_seconds(items, EACH_CAP, TOTAL_CAP)
    mine, theirs = run_virtual(ours(items, TOTAL_CAP)), run_virtual(fifo(items))
    return [
        at_most(
            "total cap, virtual time: the lower bound",
            f"{mine:.1f} s",
            f"first come first served {theirs / least:.2f} x",
            mine / least,
            BOUND,
        )
    ]
