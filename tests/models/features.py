"""Which features reach which provider, found by sending them: the table in docs is made of this.

Each provider's own client sends each feature to a server on loopback. What is in the body of the
request has arrived; what was refused, with an error that names the feature, has not been sent; what
was left out, with a warning that names it, neither. There is no other case: what is in none of them
would be dropped in silence, and fails. How answers are read: `test_reading.py`.

`python -m tests.models.features` writes the table.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path

from fanwise.errors import BadOutput, ModelError, UsageError
from fanwise.models import File, Message, Options, Request, Tool, connect
from fanwise.models.names import PROVIDERS
from fanwise.models.wires.wire import warn_not_sent
from fanwise.testing import ScriptedServer
from tests.models.test_other_providers import ANTHROPIC, GOOGLE, MISTRAL, Wire, Wired

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "models.md"
BEGIN, END = "<!-- features: begin -->", "<!-- features: end -->"
SCHEMA = {
    "type": "object",
    "properties": {"mood": {"type": "string"}},
    "required": ["mood"],
    "additionalProperties": False,
}
USER = Message("user", "hello")
MUST_CALL = r'"(tool_choice|mode)":\s*("(required|any)"|\{"type":\s*"any")'


def with_files(*files: File) -> Request:
    return Request((Message("user", "what is this", files=files),))


FEATURES: dict[str, tuple[Request, Callable[[str], bool]]] = {
    "max_tokens": (
        Request((USER,), Options(max_tokens=4321)),
        lambda body: "4321" in body,
    ),
    "stop": (Request((USER,), Options(stop=("HALT",))), lambda body: "HALT" in body),
    "schema": (Request((USER,), schema=SCHEMA), lambda body: "mood" in body),
    "tools": (
        Request((USER,), tools=(Tool("add", "Add.", SCHEMA),)),
        lambda body: '"add"' in body,
    ),
    "tool_choice": (
        Request((USER,), Options(tool_choice="required"), tools=(Tool("add", "Add.", SCHEMA),)),
        lambda body: re.search(MUST_CALL, body, re.IGNORECASE) is not None,
    ),
    "images": (with_files(File.of(b"png", "image/png")), lambda body: "cG5n" in body),
    "documents": (with_files(File.of(b"pdf", "application/pdf")), lambda body: "cGRm" in body),
    "reasoning": (
        Request((USER,), Options(reasoning="low", max_tokens=9000)),
        lambda body: re.search("effort|thinking", body, re.IGNORECASE) is not None,
    ),
    "logprobs": (Request((USER,), Options(logprobs=2)), lambda body: "logprobs" in body.lower()),
    "prefill": (Request((USER, Message("assistant", "Well,"))), lambda body: _is_last(body)),
    "seed": (Request((USER,), seed=987654), lambda body: "987654" in body),
    "prompt_cache": (
        Request((Message("system", "Be brief."), USER), Options(prompt_cache=True)),
        lambda body: "cache_control" in body,
    ),
}
NAMED = {"prefill": "assistant's message"}
"""The words by which an error names a feature, where they are not its name."""


def _is_last(body: str) -> bool:
    """Whether the prefill is the last turn, of the model's own side."""
    plain = json.loads(body)
    last = (plain.get("messages") or plain.get("contents") or plain.get("input"))[-1]
    return last["role"] in ("assistant", "model") and "Well," in str(last)


RESPONSE = {
    "id": "r", "object": "response", "created_at": 0, "model": "gpt-5-mini", "output": [],
    "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": "completed",
    "usage": {
        "input_tokens": 7, "output_tokens": 3, "total_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    },
}  # fmt: skip
PLACE = {"item_id": "m", "output_index": 0, "content_index": 0, "sequence_number": 3}
ITEM = {"id": "m", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
RESPONSES = Wire(
    name="openai-responses:gpt-5-mini",
    key="OPENAI_API_KEY",
    path="/responses",
    header=("authorization", "Bearer "),
    begin=[
        {"type": "response.created", "sequence_number": 1, "response": RESPONSE},
        {"type": "response.output_item.added", "output_index": 0, "sequence_number": 2}
        | {"item": ITEM},
        {"type": "response.output_text.delta", "delta": "fine", "logprobs": [], **PLACE},
    ],
    end=[
        {"type": "response.output_text.delta", "delta": " thank you", "logprobs": [], **PLACE},
        {"type": "response.completed", "sequence_number": 5, "response": RESPONSE},
    ],
    filtered=[],
)
WIRES = {"anthropic": ANTHROPIC, "google": GOOGLE, "vertex": GOOGLE, "mistral": MISTRAL}
WIRES["openai-responses"] = RESPONSES
MODELS = {scheme: wire.name.partition(":")[2] for scheme, wire in WIRES.items()}


async def probe(scheme: str) -> dict[str, str]:
    """For each feature `yes`, `refused` or `left out`; anything else is an error."""
    (plain,), _ = await _sent(scheme, Request((USER,)))
    return {feature: await _probe(scheme, feature, plain) for feature in FEATURES}


async def _probe(scheme: str, feature: str, plain: str) -> str:
    request, arrived = FEATURES[feature]
    assert not arrived(plain), f"{feature} would be seen where it is not: {plain}"
    bodies, said = await _sent(scheme, request)
    named = NAMED.get(feature, feature) in said
    if bodies and arrived(bodies[0]):
        assert not named, f"{scheme} sends {feature} and says: {said}"
        return "yes"
    if not named:
        raise AssertionError(f"{scheme} drops {feature} in silence ({said}): {bodies}")
    return "left out" if bodies else "refused"


async def _sent(scheme: str, request: Request) -> tuple[list[str], str]:
    """The bodies that arrived, and the errors and warnings."""
    if scheme not in WIRES:
        async with ScriptedServer(lambda _: '{"mood": "good"}') as server:
            said = await _ask(f"{scheme}:any", server.base_url, request)
            return [found.body.decode() for found in server.requests], said
    async with Wired(WIRES[scheme]).open() as wired:
        said = await _ask(f"{scheme}:{MODELS[scheme]}", wired.url, request)
        return [found.body.decode() for found in wired.requests], said


async def _ask(name: str, url: str, request: Request) -> str:
    """What it said of what it did not send. The answer may not suit: that does not count."""
    heard: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("fanwise.models.wires.wire")
    log.addHandler(handler)
    warn_not_sent.cache_clear()
    try:
        await connect({"name": name, "base_url": url}).reply(request)
    except BadOutput:
        pass
    except (UsageError, ModelError) as error:
        heard.append(str(error))
    finally:
        log.removeHandler(handler)
    return " ".join(heard)


def table(found: dict[str, dict[str, str]]) -> str:
    """Markdown; providers with the same row share it."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for scheme, features in found.items():
        rows.setdefault(tuple(features.values()), []).append(f"`{scheme}:`")
    lines = [f"| | {' | '.join(FEATURES)} |", f"|{'---|' * (len(FEATURES) + 1)}"]
    for cells, schemes in rows.items():
        shown = [{"yes": "✓", "refused": "no", "left out": "not sent"}[cell] for cell in cells]
        lines.append(f"| {', '.join(schemes)} | {' | '.join(shown)} |")
    return "\n".join(lines)


def in_page(text: str) -> str:
    """The table that stands between the marks."""
    return text.split(BEGIN)[1].split(END)[0].strip()


def main() -> None:
    """Write the table into the guide."""
    warnings.simplefilter("ignore")
    for provider in PROVIDERS.values():
        os.environ[provider.key] = "any"

    async def all_of_them() -> dict[str, dict[str, str]]:
        return {scheme: await probe(scheme) for scheme in PROVIDERS}

    made = table(asyncio.run(all_of_them()))
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}")


if __name__ == "__main__":
    main()
