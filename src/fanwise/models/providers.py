"""Real models, through pydantic-ai."""

from __future__ import annotations

from fanwise.core.outcome import Usage
from fanwise.models.attempt import attempt
from fanwise.models.clients import close_client, endpoint_of, key_of, key_variable, preload
from fanwise.models.names import Spec, split
from fanwise.models.port import Reply, Request, Tokens
from fanwise.models.prices import dollars, most


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
        return await attempt(self, endpoint_of(self._spec), request, self._dollars)

    async def close(self) -> None:
        """Close the connections of this loop now; else they close with the loop."""
        await close_client(endpoint_of(self._spec))

    def _dollars(self, tokens: Tokens) -> float | None:
        return dollars(self.provider, self._model, tokens, self._spec.price)
