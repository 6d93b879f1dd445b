"""One attempt at an endpoint: streamed, without retries of the SDK, its errors as ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fanwise.errors import ReplyTooLong
from fanwise.kernel import meter
from fanwise.models import schema_modes
from fanwise.models.clients import client_for
from fanwise.models.failures import error_of
from fanwise.models.finish import calls_of, finish
from fanwise.models.port import Model, Reply, Request, Tokens
from fanwise.models.prices import counted
from fanwise.models.wires.wire import Endpoint, Reading, TooLong

Dollars = Callable[[Tokens], float | None]


async def attempt(model: Model, endpoint: Endpoint, request: Request, usd: Dollars) -> Reply:
    """Send the request of this model there, and read the reply; `usd`: what tokens cost."""
    wire = await client_for(endpoint)
    mode = schema_modes.mode_for(endpoint, wire.first_mode())
    reading = Reading()
    try:
        await wire.read(request, reading, mode)
    except TooLong as error:
        (limit,) = error.args
        raise ReplyTooLong(
            f"{model.name} wrote more than {limit:,} characters, which is the limit",
            limit=limit,
            provider=model.provider,
            model=model.name,
            next_step="Give max_tokens, and check that the server obeys it",
        ) from None
    except Exception as error:
        problem = wire.problem(error)
        if problem is None:
            raise
        ours = error_of(problem, model, endpoint, reading.tokens, usd(reading.tokens))
        raise schema_modes.next_mode(request, endpoint, mode, ours) or ours from None
    except asyncio.CancelledError:
        # It has neither reply nor error to carry what it cost.
        usage = counted(reading.tokens, usd(reading.tokens))
        if usage is not None:
            meter.spent(usage)
        raise
    if reading.tokens.output == 0 and (reading.text or reading.calls):
        reading.tokens = Tokens()  # it wrote something, so the server's count is wrong
    reply = Reply(
        _sendable(reading.text),
        reading.model or endpoint.model,
        None,
        reading.tokens,
        usd(reading.tokens),
        reading.first_token_s,
        reading.ran_s,
        reading.finish_reason,
        _sendable(reading.reasoning),
        logprobs=tuple(reading.logprobs),
    )
    calls = [[*map(_sendable, each)] for each in reading.calls.values()]
    return finish(model, request, calls_of(model, reply, calls))


def _sendable(text: str) -> str:
    """The text with halves of characters joined, and those that are alone replaced.

    Servers that cut a reply by tokens may send a character in two halves, which JSON can express
    and which neither a file nor the next request can have.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
