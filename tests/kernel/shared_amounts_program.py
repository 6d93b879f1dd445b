"""One of several processes that share a rate and a budget.

Arguments: the journal, the run's id, how many items, the limits as JSON. Each call writes a line
with the time into the file that `calls` names, before it can be killed. It prints how many calls
were made and how many were refused.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Any

from fanwise import Caps, Rate, Usage, call, fan_out, open_run
from fanwise.errors import BudgetExceeded
from fanwise.kernel import shared_amounts

shared_amounts.LASTS_S = 2.0


async def main(journal: str, run_id: str, items: int, limits: dict[str, Any]) -> None:
    calls = os.open(limits["calls"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    caps = Caps(key=Rate(**limits["rate"]))

    def spend() -> None:
        os.write(calls, f"{run_id} {time.monotonic()}\n".encode())

    async def item(_: int) -> None:
        await call(spend, estimate=Usage(requests=1), needs="key")

    async with open_run(run_id, journal=journal, caps=caps, budget=limits["budget"]) as run:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        found = await fan_out(item, range(items), cap=8, run=run)
    refused = [each.error for each in found if not each.ok]
    assert all(isinstance(each, BudgetExceeded) for each in refused), refused
    print(sum(each.ok for each in found), len(refused), flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    asyncio.run(main(given[0], given[1], int(given[2]), json.loads(given[3])))
