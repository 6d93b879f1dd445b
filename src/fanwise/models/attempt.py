"""Models of providers: one attempt at an endpoint, streamed, without the SDK's retries.

What an SDK raises becomes one of our errors. The original is not chained: it holds requests,
headers and bodies, and the journal keeps the fields of a cause. The key is cut out of its text:
some servers repeat the key that they reject.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

from fanwise.core.outcome import Usage
from fanwise.errors import ModelError, ModelOverloaded, ModelRateLimited, ReplyTooLong
from fanwise.kernel import meter
from fanwise.models import schema_modes
from fanwise.models.clients import (
    client_for,
    close_client,
    endpoint_of,
    key_of,
    key_variable,
    preload,
    server_of,
)
from fanwise.models.finish import calls_of, finish
from fanwise.models.names import Spec, split
from fanwise.models.port import Model, Reply, Request, Tokens
from fanwise.models.prices import counted, dollars, free, most
from fanwise.models.wires.wire import Endpoint, ErrorFacts, Reading, TooLong

HIDDEN = "[key]"
MOST_TEXT = 500
_PLACES = ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
"""Which models there are on Vertex depends on them."""
NOTHING = Tokens(0, 0)
Dollars = Callable[[Tokens], float | None]


class ProviderModel:
    """A model of a provider, or of any server that speaks as OpenAI does."""

    travels = True
    """The workers of a run may make its calls."""

    def __init__(self, spec: Spec) -> None:
        preload(spec)
        self.name = spec.name
        self.provider, self._model = split(spec.name)
        self.key: str | None = key_variable(spec) if key_of(spec) is not None else None
        self.server = server_of(spec)
        self._spec = spec

    def __repr__(self) -> str:
        return f"<Model {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """As its spec: a worker connects by itself, with the key that its own environment has."""
        return ProviderModel, (self._spec,)

    def estimate(self, request: Request) -> Usage:
        return most(self.provider, self._model, request, self._spec.price)

    async def reply(self, request: Request) -> Reply:
        return await attempt(self, endpoint_of(self._spec), request, self._dollars)

    def identity(self) -> list[Any]:
        """All of it that can change an answer; the environment may, at any time."""
        found = endpoint_of(self._spec)._replace(key=None)
        return [*found, [os.environ.get(name) for name in _PLACES]]

    async def close(self) -> None:
        """Close the connections of this loop now instead of with the loop."""
        await close_client(endpoint_of(self._spec))

    def _dollars(self, tokens: Tokens) -> float | None:
        return dollars(self.provider, self._model, tokens, self._spec.price)


async def attempt(model: Model, endpoint: Endpoint, request: Request, usd: Dollars) -> Reply:
    """Send a request and read the reply. `usd`: the price of tokens."""
    wire = await client_for(endpoint)
    mode = schema_modes.mode_for(request, endpoint, wire.first_mode())
    reading = Reading()
    try:
        await wire.read(request, reading, mode)
    except TooLong as error:
        raise ReplyTooLong(
            f"{model.name} wrote more than {error.limit:,} {error.unit}, which is the limit",
            limit=error.limit,
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
        usage = counted(reading.tokens, usd(reading.tokens)) or free(model.estimate(request))
        if usage is not None:
            meter.spent(usage)
        raise
    schema_modes.taken(request, endpoint, mode)
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
        provider_state=reading.state_as_json() if reading.calls else "",
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


def error_of(
    problem: ErrorFacts, model: Model, endpoint: Endpoint, tokens: Tokens, usd: float | None
) -> ModelError:
    """Our error for an SDK's. `tokens` and `usd`: what was spent once the stream had begun."""
    if problem.unbilled:
        tokens, usd = NOTHING, 0.0
    fields: dict[str, Any] = {
        "provider": model.provider,
        "model": model.name,
        "status": problem.status,
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "cached_tokens": tokens.cached,
        "usd": usd,
    }
    if issubclass(problem.kind, ModelRateLimited | ModelOverloaded):
        fields["retry_after"] = problem.retry_after
    if "max_completion_tokens" in problem.text and endpoint.max_tokens_field is None:
        fields["next_step"] = "Set max_tokens_field: max_completion_tokens for this model"
    return problem.kind(f"{model.name}: {_hidden(problem.text, endpoint.key)}", **fields)


def _hidden(text: str, key: str | None) -> str:
    if key:
        text = text.replace(key, HIDDEN)
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + " …"
