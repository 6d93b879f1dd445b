"""One of several processes that share a cap: it asks a server again and again.

Arguments: the journal, the server's address, the cap, the run's id (also its name at the server),
how many at once, how long a lease lasts. It prints `ready` when it is set up. Each line on stdin is
a number of items to do, after which it prints `done`; without a number it goes on until stdin ends.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from typing import Any

from fanwise import Caps, Shared, fan_out, open_run
from fanwise.journal import leases
from fanwise.models import Message, Model, Options, Request, ask, connect

REQUEST = Request((Message("user", "hello"),), Options(max_tokens=5))


async def main(journal: str, url: str, most: int, run_id: str, wide: int, lasts_s: float) -> None:
    leases.LEASE_S = lasts_s
    model = connect({"name": f"openai:{run_id}", "base_url": url})
    caps = Caps(openai=Shared(most, name="team-key"))
    async with open_run(run_id, journal=journal, caps=caps) as run:
        print("ready", flush=True)
        while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
            endless = line == "endless"
            items: Any = itertools.count() if endless else range(int(line))
            if endless:
                halting = asyncio.ensure_future(halt_at_end(run))
            outcomes = await fan_out(lambda _: asked(model), items, cap=wide, run=run)
            if endless:
                await halting
            assert outcomes.ok or endless, outcomes.failures
            print("done", flush=True)


async def halt_at_end(run: Any) -> None:
    await asyncio.to_thread(sys.stdin.read)
    run.halt()


async def asked(model: Model) -> str:
    return (await ask(model, REQUEST)).text


if __name__ == "__main__":
    given = sys.argv[1:]
    asyncio.run(main(given[0], given[1], int(given[2]), given[3], int(given[4]), float(given[5])))
