"""One attempt at an endpoint: streamed, without retries of the SDK, its errors as ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fanwise.kernel import meter
from fanwise.models import schema_modes
from fanwise.models.clients import client_for
from fanwise.models.failures import error_of
from fanwise.models.finish import calls_of, finish
from fanwise.models.port import Model, Reply, Request, Tokens
from fanwise.models.prices import counted
from fanwise.models.wires.wire import Endpoint, Reading

Dollars = Callable[[Tokens], float | None]


async def attempt(model: Model, endpoint: Endpoint, request: Request, usd: Dollars) -> Reply:
    """Send the request of this model there, and read the reply; `usd`: what tokens cost."""
    wire = await client_for(endpoint)
    mode = schema_modes.mode_for(endpoint, wire.first_mode())
    reading = Reading()
    try:
        await wire.read(request, reading, mode)
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
        reading.text,
        reading.model or endpoint.model,
        None,
        reading.tokens,
        usd(reading.tokens),
        reading.first_token_s,
        reading.ran_s,
        reading.finish_reason,
        reading.reasoning,
        logprobs=tuple(reading.logprobs),
    )
    return finish(model, request, calls_of(model, reply, reading.calls.values()))
