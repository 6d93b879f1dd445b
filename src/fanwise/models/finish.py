"""The end of an attempt that the provider completed: is it a reply, a refusal, or bad output?

Every model ends here, so that a fake fails as the real one does. All three have been paid for,
so all three carry what they cost.
"""

from __future__ import annotations

from msgspec.structs import replace

from fanwise.errors import BadOutput, ModelRefused
from fanwise.models.output import Mismatch, parse
from fanwise.models.port import Model, Reply, Request

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
    try:
        value = parse(reply.text, request.schema)
    except Mismatch as problem:
        cut = " (it was cut off: raise max_tokens)" if reply.finish_reason == "length" else ""
        raise BadOutput(
            f"{model.name} gave {problem}{cut}",
            text=reply.text,
            first_token_s=reply.first_token_s,
            ran_s=reply.ran_s,
            finish_reason=reply.finish_reason,
            provider=model.provider,
            model=model.name,
            input_tokens=reply.usage.input,
            output_tokens=reply.usage.output,
            cached_tokens=reply.usage.cached,
            usd=reply.usd,
        ) from None
    return reply if request.schema is None else replace(reply, value=value)
