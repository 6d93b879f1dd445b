"""One attempt at an endpoint: streamed, without retries of the SDK, its errors as ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fanwise.kernel import meter
from fanwise.models.answers import answers_closed
from fanwise.models.clients import Endpoint, client_for
from fanwise.models.failures import Failure
from fanwise.models.finish import finish
from fanwise.models.port import Model, Reply, Request, Tokens
from fanwise.models.prices import counted
from fanwise.models.stream import Reading

Dollars = Callable[[Tokens], float | None]


async def attempt(model: Model, endpoint: Endpoint, request: Request, usd: Dollars) -> Reply:
    """Send the request of this model there, and read the reply; `usd`: what tokens cost."""
    client = await client_for(endpoint)
    clock = asyncio.get_running_loop().time
    began = clock()
    reading = Reading()
    try:
        async with answers_closed():
            await reading.read(client, request)
    except Exception as error:
        failure = Failure(model.provider, model.name, endpoint.key)
        ours = failure.of(error, reading.tokens, usd(reading.tokens))
        if ours is None:
            raise
        raise ours from None
    except asyncio.CancelledError:
        _tell_cost(reading, usd)
        raise
    reply = Reply(
        reading.text,
        reading.model or endpoint.model,
        None,
        reading.tokens,
        usd(reading.tokens),
        reading.first_token_s,
        clock() - began,
        reading.finish_reason,
    )
    return finish(model, request, reply)


def _tell_cost(reading: Reading, usd: Dollars) -> None:
    """A cancelled attempt has neither reply nor error to carry it."""
    usage = counted(reading.tokens, usd(reading.tokens))
    if usage is not None:
        meter.spent(usage)
