"""The scripted server in a process of its own, so that its work is not the contenders'.

`python -m bench.served` reads a command a line and answers each with a line of JSON: `trial SEED`
(begin to draw replies from this seed), `count` (what was served so far), `idle` (the same, when
no request is in flight any more).
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from typing import Any

import msgspec

from bench.draws import Drawn, draws
from bench.harness import ROOT, environment
from fanwise.testing import ScriptedServer
from fanwise.testing.scripted_server import Answer

TOKENS = 20
VALID_TEXT, INVALID_TEXT = (" ".join([*["well"] * (TOKENS - 1), last]) for last in ("yes", "no"))
FIRST_BYTE = 0.3
"""Share of the time until the first token; the rest is between the tokens."""


class Count(msgspec.Struct, frozen=True):
    """What the server has seen."""

    base_url: str
    requests: int
    in_flight: int
    disconnects: int
    output_tokens: int


class Served:
    """`async with Served() as served:` the server, from the contenders' side."""

    _process: Process

    async def __aenter__(self) -> Served:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", __name__, stdin=PIPE, stdout=PIPE, cwd=ROOT, env=environment()
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()

    async def url(self) -> str:
        """Its address."""
        return (await self.count()).base_url

    async def trial(self, seed: int) -> Count:
        """From here on replies are those of this seed."""
        return await self._ask(f"trial {seed}")

    async def count(self) -> Count:
        """What was served so far."""
        return await self._ask("count")

    async def idle(self) -> Count:
        """The same, when no request is in flight."""
        return await self._ask("idle")

    async def _ask(self, command: str) -> Count:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{command}\n".encode())
        return msgspec.json.decode(await self._process.stdout.readline(), type=Count)


def answer(drawn: Drawn, *, streamed: bool) -> Answer:
    """The reply in its time: the same whether it is streamed or comes at once."""
    pauses = TOKENS - 1 if streamed else TOKENS
    return Answer(
        text=VALID_TEXT if drawn.valid else INVALID_TEXT,
        first_byte_s=FIRST_BYTE * drawn.seconds,
        chunk_s=(1 - FIRST_BYTE) * drawn.seconds / pauses,
    )


async def main() -> None:
    """Serve until stdin ends."""
    replies = draws(0)

    def script(body: dict[str, Any]) -> Answer:
        return answer(next(replies), streamed=bool(body.get("stream")))

    commands = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    async with ScriptedServer(script) as server:
        while line := await commands.readline():
            command, *seed = line.split()
            if command == b"trial":
                replies = draws(int(seed[0]))
            elif command == b"idle":
                await server.idle()
            print(msgspec.json.encode(_count(server)).decode(), flush=True)


def _count(server: ScriptedServer) -> Count:
    return Count(
        server.base_url,
        len(server.requests),
        server.in_flight,
        server.disconnects,
        server.output_tokens,
    )


if __name__ == "__main__":
    asyncio.run(main())
