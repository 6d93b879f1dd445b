"""SDK clients, one for each event loop, closed with it, and without retries of their own.

A pooled connection belongs to the loop that opened it, so a model that is used from a second
`asyncio.run` needs a second client. Nobody tells a library that a loop is ending, except in one
way: loops close their async generators. So each client lives in one, and its sockets are closed
when the loop ends, without the caller having to close anything.

What is heavy (SDKs cost 0.5-3 s) is imported by `preload`, when a model is connected.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from importlib import import_module
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from fanwise.errors import ModelNotReady, UsageError
from fanwise.models.names import PROVIDERS, Spec, aws_region, split
from fanwise.models.wires.wire import Endpoint, Wire, bound_events, note

SILENCE_S = 600.0
"""A server that says nothing for so long is gone. A shorter limit is the caller's: see `ask`."""
NO_KEY = "no-key"
"""Sent to servers that need none: the SDKs refuse to send nothing."""


class LoopClient(NamedTuple):
    wire: Wire
    life: AsyncGenerator[None, None]


_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Endpoint, LoopClient]]
_shared = WeakKeyDictionary()


async def client_for(endpoint: Endpoint) -> Wire:
    """The client of this loop, made once so that its connections are reused."""
    here = _shared.setdefault(asyncio.get_running_loop(), {})
    if endpoint not in here:
        wire = build(endpoint)
        life = _life(here, endpoint, wire)
        await anext(life)
        here[endpoint] = LoopClient(wire, life)
    return here[endpoint].wire


async def close_client(endpoint: Endpoint) -> None:
    """Close the connections of this loop now instead of with the loop."""
    here = _shared.get(asyncio.get_running_loop(), {})
    found = here.get(endpoint)
    if found is not None:
        await found.life.aclose()


async def _life(
    here: dict[Endpoint, LoopClient], endpoint: Endpoint, wire: Wire
) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        here.pop(endpoint, None)
        await wire.close()


def endpoint_of(spec: Spec) -> Endpoint:
    scheme, model = split(spec.name)
    return Endpoint(
        scheme, model, base_url_of(spec), key_of(spec), spec.max_tokens_field, spec.schema_mode
    )


def key_variable(spec: Spec) -> str:
    return spec.api_key_env or PROVIDERS[split(spec.name)[0]].key


def key_of(spec: Spec) -> str | None:
    """The key itself. It goes to the SDK and nowhere else."""
    return os.environ.get(key_variable(spec)) or None


def base_url_of(spec: Spec) -> str | None:
    """The spec's address, else the environment's, else the provider's own."""
    provider = PROVIDERS[split(spec.name)[0]]
    from_environment = os.environ.get(provider.url_variable) if provider.url_variable else None
    found = spec.base_url or from_environment or provider.base_url
    return found and found.replace("{AWS_REGION}", aws_region())


def server_of(spec: Spec) -> str | None:
    """The host, with its port if there is one: a cap of this name bounds the calls to it."""
    return urlsplit(base_url_of(spec) or "").netloc.rpartition("@")[2] or None


def check_ready(spec: Spec) -> None:
    """`ModelNotReady` if the key is missing; your own server may need none."""
    scheme, _ = split(spec.name)
    provider, variable = PROVIDERS[scheme], key_variable(spec)
    own = scheme == "openai" and base_url_of(spec) is not None
    optional = spec.api_key_env is None and (provider.key_optional or own)
    if key_of(spec) is None and not optional:
        raise ModelNotReady(spec.name, f"{variable} is not set", variable, provider.extra)
    if scheme == "bedrock" and key_of(spec) is None:
        _check_aws_credentials(spec.name, variable)
    if scheme == "azure" and base_url_of(spec) is None:
        step = "Set AZURE_OPENAI_ENDPOINT, or give base_url"
        raise UsageError(f"{spec.name} has no address", step)


def _check_aws_credentials(name: str, variable: str) -> None:
    """The environment, profiles, SSO, roles of containers and machines: whatever botocore finds."""
    try:
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session
    except ImportError:
        missing = f"{variable} is not set, and botocore, which finds AWS credentials, is missing"
        raise ModelNotReady(name, missing, variable, "bedrock") from None
    problem = "there are no AWS credentials"
    try:
        if Session().get_credentials() is not None:
            return
    except BotoCoreError as error:
        problem = str(error)
    raise ModelNotReady(name, f"{variable} is not set, and {problem}", variable, "bedrock")


def preload(spec: Spec) -> None:
    """Import what is heavy, so that the first call's time is that of the call.

    `ModelNotReady` if the key or the extra is missing.
    """
    check_ready(spec)
    scheme, _ = split(spec.name)
    import_sdk(spec.name, scheme, key_variable(spec), PROVIDERS[scheme].extra)


def import_sdk(name: str, scheme: str, variable: str | None, extra: str) -> None:
    """Import what `build` needs; `ModelNotReady` names the extra that is missing."""
    try:
        for module in _MODULES.get(scheme, ("openai",)):
            import_module(module)
    except ImportError as error:
        missing = f"{error.name or 'a package of it'} is not installed"
        raise ModelNotReady(name, missing, variable, extra) from None


def build(endpoint: Endpoint) -> Wire:
    if endpoint.scheme in _BUILDERS:
        return _BUILDERS[endpoint.scheme](endpoint)
    from fanwise.models.wires.openai_chat import OpenAIChat

    return OpenAIChat(endpoint, **_settings())


def _wire(endpoint: Endpoint, model: Any, settings: Any, close: Any) -> Wire:
    from fanwise.models.wires.pydantic_ai import PydanticAI

    return PydanticAI(endpoint, model, set(settings.__annotations__), close)


def _anthropic(endpoint: Endpoint) -> Wire:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
    from pydantic_ai.providers.anthropic import AnthropicProvider

    key, url = endpoint.key or NO_KEY, endpoint.base_url
    client = AsyncAnthropic(api_key=key, base_url=url, **_settings())
    model = AnthropicModel(endpoint.model, provider=AnthropicProvider(anthropic_client=client))
    return _wire(endpoint, model, AnthropicModelSettings, client.close)


def _google(endpoint: Endpoint) -> Wire:
    from pydantic_ai.models.google import GoogleModel, GoogleModelSettings
    from pydantic_ai.providers.google import GoogleProvider
    from pydantic_ai.providers.google_cloud import GoogleCloudProvider

    http, url = _http(), endpoint.base_url
    provider: Any
    if endpoint.scheme == "vertex":
        provider = GoogleCloudProvider(api_key=endpoint.key, http_client=http, base_url=url)
    else:
        provider = GoogleProvider(api_key=endpoint.key or NO_KEY, http_client=http, base_url=url)
    model = GoogleModel(endpoint.model, provider=provider)
    return _wire(endpoint, model, GoogleModelSettings, http.aclose)


def _mistral(endpoint: Endpoint) -> Wire:
    from mistralai.client import Mistral
    from pydantic_ai.models.mistral import MistralModel, MistralModelSettings
    from pydantic_ai.providers.mistral import MistralProvider

    http, silence_ms = _http(), int(SILENCE_S * 1000)  # else it sets a limit of its own: 300 s
    key, url = endpoint.key or NO_KEY, endpoint.base_url
    client = Mistral(api_key=key, async_client=http, server_url=url, timeout_ms=silence_ms)
    model = MistralModel(endpoint.model, provider=MistralProvider(mistral_client=client))
    return _wire(endpoint, model, MistralModelSettings, http.aclose)


def _responses(endpoint: Endpoint) -> Wire:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
    from pydantic_ai.providers.openai import OpenAIProvider

    key, url = endpoint.key or NO_KEY, endpoint.base_url
    client = AsyncOpenAI(api_key=key, base_url=url, **_settings())
    model = OpenAIResponsesModel(endpoint.model, provider=OpenAIProvider(openai_client=client))
    return _wire(endpoint, model, OpenAIResponsesModelSettings, client.close)


def _settings() -> dict[str, Any]:
    """Of the SDKs that take them."""
    return {"max_retries": 0, "timeout": SILENCE_S, "http_client": _http()}


def _http() -> Any:
    """As many connections as calls: caps are ours, and a call that waited here would look slow."""
    import httpx2

    return httpx2.AsyncClient(
        timeout=SILENCE_S,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
        follow_redirects=True,
        event_hooks={"response": [note, bound_events]},
    )


_GOOGLE = ("google.genai", "pydantic_ai.direct", "pydantic_ai.models.google")
_MODULES = {
    "anthropic": ("anthropic", "pydantic_ai.direct", "pydantic_ai.models.anthropic"),
    "google": _GOOGLE,
    "vertex": _GOOGLE,
    "mistral": ("mistralai", "pydantic_ai.direct", "pydantic_ai.models.mistral"),
    "openai-responses": ("openai", "pydantic_ai.direct", "pydantic_ai.models.openai"),
}
_BUILDERS = {
    "anthropic": _anthropic,
    "google": _google,
    "vertex": _google,
    "mistral": _mistral,
    "openai-responses": _responses,
}
