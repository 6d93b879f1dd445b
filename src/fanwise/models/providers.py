"""Real models, through pydantic-ai: one attempt, streamed, without retries of the SDK."""

from __future__ import annotations

import asyncio

from fanwise.core.outcome import Usage
from fanwise.kernel import meter
from fanwise.models.clients import client_for, close_client, key_of, key_variable, preload
from fanwise.models.failures import Failure
from fanwise.models.finish import finish
from fanwise.models.names import Spec, split
from fanwise.models.port import Reply, Request
from fanwise.models.prices import counted, dollars, most
from fanwise.models.stream import Reading


class ProviderModel:
    """A model of a provider, or of any server that speaks as OpenAI does."""

    def __init__(self, spec: Spec) -> None:
        preload(spec)
        self.name = spec.name
        self.provider, self._model = split(spec.name)
        self.key: str | None = key_variable(spec) if key_of(spec) is not None else None
        self._spec = spec

    def __repr__(self) -> str:
        return f"<Model {self.name}>"

    def estimate(self, request: Request) -> Usage:
        """The most that one attempt may cost; `prices.py` says how it is counted."""
        return most(self.provider, self._model, request, self._spec.price)

    async def reply(self, request: Request) -> Reply:
        """One attempt."""
        model = await client_for(self._spec)
        clock = asyncio.get_running_loop().time
        began = clock()
        reading = Reading()
        try:
            await reading.read(model, request)
        except Exception as error:
            failure = Failure(self.provider, self.name, key_of(self._spec))
            ours = failure.of(error, reading.tokens, self._dollars(reading))
            if ours is None:
                raise
            raise ours from None
        except asyncio.CancelledError:
            self._tell_cost(reading)
            raise
        ran_s = clock() - began
        return finish(self, request, self._complete(reading, ran_s))

    async def close(self) -> None:
        """Close the connections of this loop now; else they close with the loop."""
        await close_client(self._spec)

    def _complete(self, reading: Reading, ran_s: float) -> Reply:
        return Reply(
            reading.text,
            reading.model or self._model,
            None,
            reading.tokens,
            self._dollars(reading),
            reading.first_token_s,
            ran_s,
            reading.finish_reason,
        )

    def _tell_cost(self, reading: Reading) -> None:
        """A cancelled attempt has neither reply nor error to carry it."""
        usage = counted(reading.tokens, self._dollars(reading))
        if usage is not None:
            meter.spent(usage)

    def _dollars(self, reading: Reading) -> float | None:
        return dollars(self.provider, self._model, reading.tokens, self._spec.price)
