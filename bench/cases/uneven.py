"""`[1, .05, .05, .05] x 5` seconds, four at a time: a long item must not hold up short ones.

Four workers cannot be faster than 2 s: one of them has two of the five long items. Batches of
four (a `gather` for each) take 5 s, for each waits for its long one.
"""

from __future__ import annotations

import asyncio

from bench.harness import Row, at_most
from fanwise import fan_out
from fanwise.kernel.virtual_time import run_virtual

DURATIONS_S = [1.0, 0.05, 0.05, 0.05] * 5
POSSIBLE_S = 2.0
CAP = 4
SCALE = 0.1
BOUND = 1.15


async def ours(durations: list[float]) -> float:
    return (await fan_out(asyncio.sleep, durations, cap=CAP)).stats.makespan_s


async def batches(durations: list[float]) -> float:
    loop = asyncio.get_running_loop()
    began = loop.time()
    for first in range(0, len(durations), CAP):
        await asyncio.gather(*map(asyncio.sleep, durations[first : first + CAP]))
    return loop.time() - began


def measure() -> list[Row]:
    """In virtual time, and really, ten times as fast."""
    scaled = [SCALE * duration for duration in DURATIONS_S]
    virtual = run_virtual(ours(DURATIONS_S)), run_virtual(batches(DURATIONS_S))
    real = asyncio.run(ours(scaled)), asyncio.run(batches(scaled))
    return [
        _row("virtual", *virtual, POSSIBLE_S),
        _row("real", *real, SCALE * POSSIBLE_S),
    ]


def _row(clock: str, mine: float, theirs: float, possible: float) -> Row:
    return at_most(
        f"uneven, {clock} time: the possible",
        f"{mine:.3f} s",
        f"batches of {CAP} {theirs / possible:.2f} x",
        mine / possible,
        BOUND,
    )
