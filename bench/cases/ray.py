"""Attempts on Ray workers: how many a second, how well they fill the time, and what one adds.

Beside raw Ray: an async actor, one call for each item. All of it is in one process that starts a
Ray of this machine's cores, with two workers. The rates are the best of several rounds, since what
disturbs only adds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from bench.cases.models import served
from bench.harness import Row, at_least, at_most, fresh
from fanwise import Ray, fan_out, open_run
from fanwise.kernel.workers import HERE
from fanwise.models import ask

ITEMS, CAP, ROUNDS = 20_000, 256, 5
RAW_ITEMS = 3_000
NAP_S, NAPS, IN_FLIGHT = 0.05, 1_280, 64
ALONE = 100
CALLS, WIDTH = 600, 64
RATE, IDEAL, ADDED_MS, SPEED_UP = 10_000, 0.9, 5.0, 1.3


async def nothing(item: int) -> int:
    return item


async def nap(_: int) -> None:
    await asyncio.sleep(NAP_S)


async def _best(work: Callable[[], Awaitable[Any]]) -> float:
    """Seconds of the best round."""
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await work()
        took.append(time.perf_counter() - began)
    return min(took)


def rates() -> dict[str, float]:
    """All figures but those of model calls."""

    async def main(place: Ray) -> dict[str, float]:
        await fan_out(nothing, range(CAP), cap=CAP, on=place)  # the workers are there
        many = await _best(lambda: fan_out(nothing, range(ITEMS), cap=CAP, on=place))
        naps = await _best(lambda: fan_out(nap, range(NAPS), cap=IN_FLIGHT, on=place))

        async def one_by_one() -> None:
            for item in range(ALONE):
                await fan_out(nothing, [item], on=place)

        alone = await _best(one_by_one)
        raw = await _best(_raw_calls)
        return {
            "items": ITEMS / many,
            "ideal": NAPS / IN_FLIGHT * NAP_S / naps,
            "added_ms": alone / ALONE * 1000,
            "raw": RAW_ITEMS / raw,
        }

    with Ray(workers=2) as place:
        return asyncio.run(main(place))


async def _raw_calls() -> None:
    import ray

    actor: Any = ray.remote(_Actor).options(num_cpus=0, max_concurrency=CAP).remote()
    await asyncio.gather(*(actor.perform.remote(item) for item in range(RAW_ITEMS)))
    ray.kill(actor)


class _Actor:
    async def perform(self, item: int) -> int:
        return item


def model_calls(url: str, workers: int) -> float:
    """Model calls a second with so many worker processes."""

    async def main(place: Ray) -> float:
        model = {"name": "openai:tiny", "base_url": url}

        async def one(_: int) -> str:
            return (await ask(model, "How are you today?")).text

        async with open_run(journal=":memory:", on=place) as run:
            await fan_out(one, range(WIDTH), cap=WIDTH, run=run, name="warm", on=HERE)
            began = time.perf_counter()
            outcomes = await fan_out(one, range(CALLS), cap=WIDTH, run=run, name="calls", on=HERE)
            took = time.perf_counter() - began
        outcomes.values()
        return CALLS / took

    return asyncio.run(main(Ray(workers=workers)))


def measure() -> list[Row]:
    found = fresh(__name__, "rates").answer
    with served() as url:
        one, two = (
            max(fresh(__name__, "model_calls", url, workers).answer for _ in range(2))
            for workers in (1, 2)
        )
    items, raw = found["items"], found["raw"]
    ideal, added = found["ideal"], found["added_ms"]
    return [
        at_least(
            f"ray: items a second, best of {ROUNDS}, beside raw actor calls",
            f"{items:,.0f}", f"{raw:,.0f}", items, RATE,
        ),
        at_least(f"ray: share of the ideal, {NAP_S * 1000:.0f} ms at {IN_FLIGHT}", f"{ideal:.3f}",
                 "", ideal, IDEAL),
        at_most("ray: what an item that is alone takes, ms", f"{added:.2f}", "", added, ADDED_MS),
        at_least("ray: model calls a second, two workers beside one", f"{two:,.0f}", f"{one:,.0f}",
                 two / one, SPEED_UP),
    ]  # fmt: skip
