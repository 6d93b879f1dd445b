"""A durable fan-out to be killed: `python -m tests.kernel.crash_program JOURNAL LOG`.

Every execution of an item is appended to LOG before it works, so that a test can see what ran
twice without asking fanwise.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from fanwise import Outcomes, Retry, Run, call, fan_out, open_run

ITEMS = 60
INSIDE = 3
RUN_ID = "crash"


class Refused(Exception):
    pass


class Again(Exception):
    pass


def log(file: int, text: str) -> None:
    os.write(file, f"{text}\n".encode())


async def execute(run: Run, file: int) -> Outcomes[Any]:
    """Items that fail, fan out inside, call, use a thread, are retried; and plain ones."""
    tried: set[int] = set()

    async def inner(item: str) -> str:
        log(file, item)
        await asyncio.sleep(0)
        return item.upper()

    async def work(item: int) -> Any:
        log(file, str(item))
        await asyncio.sleep(0)
        if item % 7 == 3:
            raise Refused(item)
        if item % 10 == 0:
            inside = [f"{item}.{letter}" for letter in "abc"]
            outcomes = await fan_out(inner, inside, key=str, name="inside")
            for outcome in outcomes.may_have_run_twice:
                log(file, f"twice:{outcome.key}")
            return outcomes.values()
        if item % 10 == 5:
            return await call(lambda number: number * number, item)
        if item % 10 == 6 and item not in tried:
            tried.add(item)
            raise Again(item)
        return item * item

    retry = Retry(1, base_s=0.0, on=Again)
    return await fan_out(work, range(ITEMS), cap=8, run=run, name="all", retry=retry)


async def main(journal: str, log_path: str) -> Outcomes[Any]:
    file = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        async with open_run(RUN_ID, journal=journal) as run:
            return await execute(run, file)
    finally:
        os.close(file)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
