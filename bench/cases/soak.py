"""Whether memory stays flat in a fan-out that never ends.

Two endless streams, each in a process of its own, side by side for five minutes
(`FANWISE_BENCH_SOAK` is the number of seconds): one is read as outcomes come, the other in order,
behind an item that times out now and then. Items fail, are retried and fan out inside. What is
resident in the last fifth of the time is compared with what was in the second fifth: by then
everything is imported, and every buffer has been full once.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.harness import Row, at_most, fresh
from fanwise import Retry, fan_out, fan_out_stream

SECONDS = int(os.environ.get("FANWISE_BENCH_SOAK", "300"))
BOUND = 1.05
CAP = 100
LATE_EVERY = 10_000

Tried = tuple[int, list[int]]
"""An item, and a list that is as long as it was tried often."""


class Refused(Exception):
    """An error that holds something: what leaks with it is seen."""

    def __init__(self, item: int) -> None:
        self.item = item
        self.body = bytes(1_000)
        super().__init__(item)


async def work(tried: Tried) -> bytes:
    """Of a hundred items 10 fail once, 5 fail twice, 1 fails in a fan-out inside."""
    item, tries = tried
    tries.append(item)
    await asyncio.sleep(0)
    kind = item % 100
    if kind < 5 or (kind < 15 and len(tries) == 1):
        raise Refused(item)
    if kind == 15:
        (await fan_out(work, [(0, [])], cap=1)).values()
    if item % LATE_EVERY == 99:
        await asyncio.sleep(60)
    return bytes(1_000)


async def _read(ordered: bool, seconds: float) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    began = looked = loop.time()
    seen: list[tuple[float, float]] = []
    read = failed = 0
    items: Iterator[Tried] = ((item, []) for item in itertools.count(1))
    retry = Retry(1, base_s=0.001, on=Refused)
    async with fan_out_stream(
        work, items, cap=CAP, ordered=ordered, retry=retry, timeout=1.0
    ) as stream:
        async for outcome in stream:
            read += 1
            failed += not outcome.ok
            if (now := loop.time()) - looked >= 0.2:
                looked = now
                seen.append(((now - began) / seconds, resident_mb()))
                if now - began >= seconds:
                    break
    return {"read": read, "failed": failed, "seen": seen}


def soak(ordered: int, seconds: int) -> dict[str, Any]:
    return asyncio.run(_read(bool(ordered), seconds))


def resident_mb() -> float:
    """As it is now; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure() -> list[Row]:
    """Both at once, each in a fresh process."""
    with ThreadPoolExecutor(2) as both:
        found = both.map(lambda ordered: fresh(__name__, "soak", ordered, SECONDS), (0, 1))
        as_they_come, in_order = (one.answer for one in found)
    return [_row("as they come", as_they_come), _row("in order", in_order)]


def _row(name: str, found: dict[str, Any]) -> Row:
    early = _median(found["seen"], 0.2, 0.4)
    late = _median(found["seen"], 0.8, 1.0)
    case = f"soak: memory, outcomes {name}, {found['read']:,} items in {SECONDS} s"
    if not early or not late:
        return Row(case, "not known here", bound=f"<= {BOUND:g}")
    return at_most(case, f"{late:.1f} MB", f"{early:.1f} MB", late / early, BOUND)


def _median(seen: list[tuple[float, float]], begin: float, end: float) -> float:
    return statistics.median([mb for at, mb in seen if begin <= at <= end] or [0.0])
