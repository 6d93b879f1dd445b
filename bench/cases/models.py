"""What a model call costs beside the provider's own SDK: the same streamed requests, CPU time.

The server runs in the parent process and answers at once, so a contender's CPU time is its own:
the SDK's parsing of HTTP and events, and whatever stands on top of it. Both sides stream, keep the
same number in flight and read the whole text. The last rows are a process that makes one call:
imports count there, and the memory they take.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from bench.harness import Measured, Row, at_most, fresh, interleaved, ratio, seconds

CALLS, WIDTH, ROUNDS = 300, 16, 5
PLAIN_BOUND, SCHEMA_BOUND, ONE_CALL_BOUND = 1.15, 1.25, 1.3
MODEL, PROMPT = "gpt-4.1-mini", "How are you today?"
TEXT = " ".join(["word"] * 20)
FIELDS = [f"field_{number}" for number in range(8)]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in FIELDS},
    "required": FIELDS,
    "additionalProperties": False,
}
VALUE = json.dumps(dict.fromkeys(FIELDS, "some words"))
FORMAT = {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}}


def sdk(url: str, schema: str = "") -> float:
    from openai import AsyncOpenAI

    fields: dict[str, Any] = {"response_format": FORMAT} if schema else {}

    async def one(client: AsyncOpenAI, free: asyncio.Semaphore) -> str:
        async with free:
            stream: Any = await client.chat.completions.create(
                model=MODEL,
                messages=[{"role": "user", "content": PROMPT}],
                max_tokens=100,
                stream=True,
                stream_options={"include_usage": True},
                **fields,
            )
            text = ""
            async for chunk in stream:
                if chunk.choices:
                    text += chunk.choices[0].delta.content or ""
            return text

    async def main(calls: int) -> None:
        client = AsyncOpenAI(api_key="no-key", base_url=url, max_retries=0, timeout=600)
        free = asyncio.Semaphore(WIDTH)
        texts = await asyncio.gather(*(one(client, free) for _ in range(calls)))
        assert {json.dumps(json.loads(t)) if schema else t for t in texts} == {_said(schema)}
        await client.close()

    return _cpu_s(main)


def ours(url: str, schema: str = "") -> float:
    from fanwise import fan_out
    from fanwise.models import Message, Options, Request, ask, connect

    request = Request(
        (Message("user", PROMPT),), Options(max_tokens=100), SCHEMA if schema else None
    )
    model = connect({"name": f"openai:{MODEL}", "base_url": url})

    async def main(calls: int) -> None:
        outcomes = await fan_out(lambda _: ask(model, request), range(calls), cap=WIDTH)
        texts = {json.dumps(r.value) if schema else r.text for r in outcomes.values()}
        assert texts == {_said(schema)}

    return _cpu_s(main)


def one_call_sdk(url: str) -> float:
    from openai import OpenAI

    client = OpenAI(api_key="no-key", base_url=url, max_retries=0)
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    stream = client.chat.completions.create(model=MODEL, messages=messages, stream=True)
    assert "".join(c.choices[0].delta.content or "" for c in stream if c.choices) == TEXT
    return time.process_time()


def one_call_ours(url: str) -> float:
    from fanwise.models import ask

    model = {"name": f"openai:{MODEL}", "base_url": url}
    assert asyncio.run(ask(model, PROMPT)).text == TEXT
    return time.process_time()


def _said(schema: str) -> str:
    return VALUE if schema else TEXT


def _cpu_s(main: Any) -> float:
    """Of one call, after a first few: connections and lazy imports are not what is measured."""

    async def timed() -> float:
        await main(WIDTH)
        began = time.process_time()
        await main(CALLS)
        return (time.process_time() - began) / CALLS

    return asyncio.run(timed())


def measure() -> list[Row]:
    """Ratios within each turn."""
    with served() as url:
        contenders = {
            "sdk": partial(fresh, __name__, "sdk", url),
            "ours": partial(fresh, __name__, "ours", url),
            "sdk schema": partial(fresh, __name__, "sdk", url, "schema"),
            "ours schema": partial(fresh, __name__, "ours", url, "schema"),
            "sdk one": partial(fresh, __name__, "one_call_sdk", url),
            "ours one": partial(fresh, __name__, "one_call_ours", url),
        }
        found = interleaved(contenders, rounds=ROUNDS)
    return [
        _row("a call", found["ours"], found["sdk"], PLAIN_BOUND),
        _row("a call with a schema", found["ours schema"], found["sdk schema"], SCHEMA_BOUND),
        _row("a process with one call", found["ours one"], found["sdk one"], ONE_CALL_BOUND),
        _memory_row(found["ours one"], found["sdk one"]),
    ]


def _row(what: str, ours: list[Measured], other: list[Measured], bound: float) -> Row:
    case = f"models: CPU time of {what}"
    return at_most(
        case, _ms(seconds(ours)), f"SDK {_ms(seconds(other))}", ratio(ours, other), bound
    )


def _memory_row(ours: list[Measured], other: list[Measured]) -> Row:
    mine, theirs = (statistics.median(each.peak_mb for each in side) for side in (ours, other))
    case = "models: memory of a process with one call"
    return at_most(case, f"{mine:.0f} MB", f"SDK {theirs:.0f} MB", mine / theirs, ONE_CALL_BOUND)


def _ms(cpu_s: float) -> str:
    return f"{cpu_s * 1e3:.2f} ms"


@contextmanager
def served() -> Iterator[str]:
    """The scripted server, in a thread of this process."""
    from fanwise.testing import ScriptedServer

    def script(body: dict[str, Any]) -> str:
        return VALUE if body.get("response_format") else TEXT

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = ScriptedServer(script)
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result()
        yield server.base_url
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
