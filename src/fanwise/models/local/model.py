"""A model on this machine, asked as any other that speaks as OpenAI does."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from fanwise.core.outcome import Usage
from fanwise.errors import ModelNotReady, ModelUnreachable
from fanwise.kernel.in_thread import in_thread
from fanwise.models.attempt import attempt
from fanwise.models.clients import client_for, close_client, import_sdk
from fanwise.models.local import server as servers
from fanwise.models.local.server import Server
from fanwise.models.local.settings import LocalFile, place_of
from fanwise.models.local.tools_by_schema import as_calls, without_tools
from fanwise.models.names import Price, SchemaMode, Spec
from fanwise.models.pieces import listening
from fanwise.models.port import Reply, Request, Tokens
from fanwise.models.prices import at_price, most_input
from fanwise.models.reply_cache import content_of
from fanwise.models.wires.wire import Endpoint

EXTRA = "local"
TEMPLATE_TOKENS = 256
"""Chat templates may say more than the messages: a system prompt where none is given."""


class LocalModel:
    """Weights in a file, served by llama.cpp. The first reply starts its server."""

    provider = "local"
    key: str | None = None

    def __init__(
        self,
        name: str,
        place: LocalFile,
        price: Price | None = None,
        schema_mode: SchemaMode | None = None,
    ) -> None:
        self.name = name
        self._place = place
        self._price = price
        self._schema_mode = schema_mode

    def __repr__(self) -> str:
        return f"<Model {self.name}>"

    @property
    def server_url(self) -> str | None:
        """Where its server answers now: `http://127.0.0.1:PORT`; None while there is none."""
        server = servers.running(self._place)
        return None if server is None else server.address

    @property
    def server_pid(self) -> int | None:
        server = servers.running(self._place)
        return None if server is None else server.pid

    def estimate(self, request: Request) -> Usage:
        """The most that one attempt may take: the context bounds prompt and reply together.

        A token for every byte: a small vocabulary has no more than bytes for what is rare in it.
        A schema takes none, for it becomes a grammar.
        """
        room = self._place.settings.ctx
        said = replace(without_tools(request) if request.tools else request, schema=None)
        inside = min(room, most_input(said, bytes_a_token=1) + TEMPLATE_TOKENS)
        wanted = request.options.max_tokens
        outside = room if wanted is None else min(room, wanted)
        usd = self.dollars(Tokens(inside, outside))
        return Usage(1, min(room, inside + outside), usd)

    def identity(self) -> list[Any]:
        """All of it that can change an answer: not where the weights are, but what."""
        settings = to_builtins(self._place.settings)
        return [content_of(self._place.file), settings, self._schema_mode]

    async def reply(self, request: Request) -> Reply:
        server = servers.server_for(self.name, self._place)
        endpoint = await self._endpoint(server)
        by_schema = bool(request.tools) and not await self._takes_tools(endpoint, server)
        try:
            if not by_schema:
                return await attempt(self, endpoint, request, self.dollars)
            with listening(None):  # pieces of JSON are not what was asked for
                reply = await attempt(self, endpoint, without_tools(request), self.dollars)
            return as_calls(request, reply)
        except ModelUnreachable as error:
            # A process that dies closes its connections one by one: the one that tells us is last.
            if not await in_thread(server.is_gone, 5000):
                raise
            raise self._died(server, error) from None

    async def busy_slots(self) -> int:
        """How many requests its server is working on."""
        server = servers.running(self._place)
        if server is None:
            return 0
        slots = await _get(await self._endpoint(server), f"{server.address}/slots")
        return sum(slot["is_processing"] for slot in slots)

    async def _takes_tools(self, endpoint: Endpoint, server: Server) -> bool:
        if server.takes_tools is None:
            told = await _get(endpoint, f"{server.address}/props")
            server.takes_tools = bool(told["chat_template_caps"]["supports_tools"])
        return server.takes_tools

    async def close(self) -> None:
        """Close the connections of this loop now instead of with the loop."""
        server = servers.running(self._place)
        if server is not None and server.address is not None:
            await close_client(await self._endpoint(server))

    def stop(self) -> None:
        """Stop its server now. The next reply starts a new one."""
        servers.stop(self._place)

    async def _endpoint(self, server: Server) -> Endpoint:
        return (await server.ready())._replace(schema_mode=self._schema_mode)

    def dollars(self, tokens: Tokens) -> float | None:
        """Nothing, even if the tokens are unknown, unless its spec has a price."""
        return 0.0 if self._price is None else at_price(tokens, self._price)

    def _died(self, server: Server, error: ModelUnreachable) -> ModelUnreachable:
        how = server.how_it_ended()
        log = server.log_tail()
        return ModelUnreachable(
            f"{self.name}: its server {how}" + (f" and said: {log}" if log else ""),
            provider=self.provider,
            model=self.name,
            input_tokens=error.input_tokens,
            output_tokens=error.output_tokens,
            cached_tokens=error.cached_tokens,
            usd=error.usd,
            next_step="The next request starts another",
        )


async def _get(endpoint: Endpoint, url: str) -> Any:
    wire: Any = await client_for(endpoint)
    return await wire.client.get(url, cast_to=object)


def open_model(spec: Spec) -> LocalModel:
    """`local:smollm2`, `local:PATH`, each with `?slots=4&ctx=4096&threads=2` if need be."""
    if find_spec("xllamacpp") is None:
        raise ModelNotReady(spec.name, "xllamacpp is not installed", None, EXTRA)
    place = place_of(spec)
    import_sdk(spec.name, LocalModel.provider, None, EXTRA)
    return LocalModel(spec.name, place, spec.price, spec.schema_mode)
