"""A provider whose calls take as long as the prompt says, in a process of its own.

`python -m bench.served_latencies` prints its address, and serves until stdin ends. A prompt ends
with the seconds that its answer takes: `… 0.125`.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from typing import Any

from bench.harness import ROOT, environment
from fanwise.testing import ScriptedServer
from fanwise.testing.scripted_server import Answer


class ServedLatencies:
    """`async with ServedLatencies() as base_url:`"""

    _process: Process

    async def __aenter__(self) -> str:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", __name__, stdin=PIPE, stdout=PIPE, cwd=ROOT, env=environment()
        )
        assert self._process.stdout is not None
        return (await self._process.stdout.readline()).decode().strip()

    async def __aexit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()


def answer(body: dict[str, Any]) -> Answer:
    return Answer(text="ok", first_byte_s=float(body["messages"][-1]["content"].split()[-1]))


async def main() -> None:
    """Serve until stdin ends."""
    given = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(given), sys.stdin)
    async with ScriptedServer(answer) as server:
        print(server.base_url, flush=True)
        await given.read()


if __name__ == "__main__":
    asyncio.run(main())
