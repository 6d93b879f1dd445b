"""A first run to watch: 40 items, two providers, one of them flaky, every outcome on disk.

    python examples/first_run.py            start it; press Ctrl-C if you like
    python examples/first_run.py ID         go on with that run

What finished is never run again; what was cut short is, and is named.
"""

from __future__ import annotations

import asyncio
import random
import sys

from fanwise import Adaptive, Caps, RateLimited, Retry, call, fan_out, open_run
from fanwise.cli.progress_line import ProgressLine
from fanwise.view.progress import Progress

CAPS = Caps(fast=6, flaky=Adaptive(start=4, most=8))


async def provider(name: str, question: str) -> str:
    """Stands for a model's API: it takes its time, and one of the two says "too many" at times."""
    await asyncio.sleep(random.uniform(0.05, 0.4))
    if name == "flaky" and random.random() < 0.3:
        raise RateLimited("too many requests", retry_after=0.2)
    return f"{name} answers {question}"


async def answer(item: tuple[str, int]) -> str:
    """One item: the permit covers the call, and is free while the call backs off."""
    name, number = item
    return await call(provider, name, f"question {number}", needs=name, retry=Retry(5))


async def main(run_id: str | None) -> None:
    """Run all items and say what became of them."""
    items = [(name, number) for name in ("fast", "flaky") for number in range(20)]
    progress = Progress()
    progress.total = len(items)
    async with open_run(run_id, name="first run", caps=CAPS, subscribers=[progress]) as run:
        print(f"run {run.id}", "(resumed)" if run.resumed else "")
        with ProgressLine(progress, run.id):
            outcomes = await fan_out(answer, items, cap=12, key=str, run=run, name="answers")
    stats = outcomes.stats
    calls = [attempt for outcome in outcomes for attempt in outcome.attempts if attempt.call]
    again = sum(outcome.recorded for outcome in outcomes)
    print(f"{len(outcomes)} items in order: {outcomes!r}; {again} were on disk already")
    print(f"{len(calls)} calls, {sum(a.error is not None for a in calls)} of them refused")
    print(f"most at once: {stats.peak}")
    print(f"it took {stats.makespan_s:.2f} s; no schedule could beat {stats.lower_bound_s:.2f} s")
    print(f"look at it: fanwise show {run.id}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else None))
