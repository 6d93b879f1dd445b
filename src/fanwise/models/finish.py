"""The end of an attempt that the provider completed: is it a reply, a refusal, or bad output?

Every model ends here, so that a fake fails as the real one does. All three have been paid for,
so all three carry what they cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from fanwise.errors import BadOutput, ModelRefused
from fanwise.models.output import Mismatch, parse
from fanwise.models.port import Model, Reply, Request, ToolCall

FILTERED = "content_filter"


def finish(model: Model, request: Request, reply: Reply) -> Reply:
    """The reply with its value; otherwise `ModelRefused` or `BadOutput`."""
    if reply.finish_reason == FILTERED:
        why = reply.text or "a content filter stopped it"
        raise ModelRefused(f"{model.name} refused: {why}", **_paid(model, reply))
    if request.schema is None or reply.calls:
        return reply
    try:
        return replace(reply, value=parse(reply.text, request.schema))
    except Mismatch as problem:
        raise _bad(model, reply, str(problem), reply.text) from None


def calls_of(model: Model, reply: Reply, calls: Iterable[Sequence[str]]) -> Reply:
    """The reply with its calls (id, name, arguments). `BadOutput` if the arguments are not JSON."""
    found = []
    for number, (id_, name, arguments) in enumerate(calls, 1):
        try:
            made = msgspec.json.decode(arguments or "{}", type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            problem = f"a call of {name} whose arguments are no JSON object: {error}"
            raise _bad(model, reply, problem, arguments) from None
        found.append(ToolCall(id_ or f"call-{number}", name, made))
    return replace(reply, calls=tuple(found)) if found else reply


def _bad(model: Model, reply: Reply, problem: str, text: str) -> BadOutput:
    cut = " (it was cut off: raise max_tokens)" if reply.finish_reason == "length" else ""
    return BadOutput(
        f"{model.name} gave {problem}{cut}",
        text=text,
        first_token_s=reply.first_token_s,
        ran_s=reply.ran_s,
        finish_reason=reply.finish_reason,
        **_paid(model, reply),
    )


def _paid(model: Model, reply: Reply) -> dict[str, Any]:
    tokens = {
        f"{name}_tokens": getattr(reply.usage, name) for name in ("input", "output", "cached")
    }
    return {"provider": model.provider, "model": model.name, "usd": reply.usd, **tokens}
