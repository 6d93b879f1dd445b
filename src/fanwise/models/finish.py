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
    """The reply with its value; `ModelRefused` or `BadOutput` if it is none."""
    if reply.finish_reason == FILTERED:
        raise ModelRefused(
            f"{model.name} refused: {reply.text or 'a content filter cut in'}",
            provider=model.provider,
            model=model.name,
            input_tokens=reply.usage.input,
            output_tokens=reply.usage.output,
            cached_tokens=reply.usage.cached,
            usd=reply.usd,
        )
    if request.schema is None or reply.calls:
        return reply
    try:
        return replace(reply, value=parse(reply.text, request.schema))
    except Mismatch as problem:
        raise _bad(model, reply, str(problem), reply.text) from None


def calls_of(model: Model, reply: Reply, calls: Iterable[Sequence[str]]) -> Reply:
    """The reply with its calls, given as id, name and arguments; `BadOutput` if one is no JSON."""
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
        provider=model.provider,
        model=model.name,
        input_tokens=reply.usage.input,
        output_tokens=reply.usage.output,
        cached_tokens=reply.usage.cached,
        usd=reply.usd,
    )
