"""SDK clients, one for each event loop, closed with it, and without retries of their own.

A pooled connection belongs to the loop that opened it, so a model that is used from a second
`asyncio.run` needs a second client. Nobody tells a library that a loop is ending, except in one
way: loops close their async generators. So each client lives in one, and its sockets are closed
when the loop ends, without the caller having to close anything.

What is heavy (pydantic-ai costs 1-3 s) is imported by `preload`, when a model is connected.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from importlib import import_module
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from fanwise.errors import ModelNotReady
from fanwise.models.answers import note
from fanwise.models.names import PROVIDERS, Spec, split

SILENCE_S = 600.0
"""A server that says nothing for so long is gone. A shorter limit is the caller's: see `ask`."""
NO_KEY = "no-key"
"""Sent to servers that need none: the SDKs refuse to send nothing."""


class Endpoint(NamedTuple):
    """Where a model is, and by which key it is reached."""

    scheme: str
    model: str
    base_url: str | None
    key: str | None

    def __repr__(self) -> str:
        """Without the key: a traceback with its locals may go anywhere."""
        return f"<Endpoint {self.scheme}:{self.model} at {self.base_url}>"


class Shared(NamedTuple):
    """A pydantic-ai model with its client, and the generator that closes it."""

    model: Any
    life: AsyncGenerator[None, None]


_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Endpoint, Shared]]
_shared = WeakKeyDictionary()


async def client_for(endpoint: Endpoint) -> Any:
    """Its pydantic-ai model in this loop: made once, so that connections are kept."""
    here = _shared.setdefault(asyncio.get_running_loop(), {})
    if endpoint not in here:
        model, close = build(endpoint)
        life = _life(here, endpoint, close)
        await anext(life)
        here[endpoint] = Shared(model, life)
    return here[endpoint].model


async def close_client(endpoint: Endpoint) -> None:
    """Close its connections of this loop now, and not at the loop's end."""
    here = _shared.get(asyncio.get_running_loop(), {})
    found = here.get(endpoint)
    if found is not None:
        await found.life.aclose()


async def _life(
    here: dict[Endpoint, Shared], endpoint: Endpoint, close: Callable[[], Any]
) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        here.pop(endpoint, None)
        await close()


def endpoint_of(spec: Spec) -> Endpoint:
    """A provider's, as the spec and the environment have it now."""
    return Endpoint(*split(spec.name), base_url_of(spec), key_of(spec))


def key_variable(spec: Spec) -> str:
    """The environment variable that holds the key."""
    return spec.api_key_env or PROVIDERS[split(spec.name)[0]].key


def key_of(spec: Spec) -> str | None:
    """The key itself. It goes to the SDK and nowhere else."""
    return os.environ.get(key_variable(spec)) or None


def base_url_of(spec: Spec) -> str | None:
    """The spec's address, else the environment's, else the provider's own."""
    provider = PROVIDERS[split(spec.name)[0]]
    from_environment = os.environ.get(provider.url_variable) if provider.url_variable else None
    return spec.base_url or from_environment or provider.base_url


def check_ready(spec: Spec) -> None:
    """`ModelNotReady` if the key is missing; servers of one's own may need none."""
    scheme, _ = split(spec.name)
    provider = PROVIDERS[scheme]
    own = scheme == "openai" and base_url_of(spec) is not None and spec.api_key_env is None
    if key_of(spec) is None and not provider.key_optional and not own:
        variable = key_variable(spec)
        raise ModelNotReady(spec.name, f"{variable} is not set", variable, provider.extra)


def preload(spec: Spec) -> None:
    """Import what is heavy, so that the first call's time is that of the call.

    `ModelNotReady` if the key or the extra is missing.
    """
    check_ready(spec)
    scheme, _ = split(spec.name)
    import_sdk(spec.name, scheme, key_variable(spec), PROVIDERS[scheme].extra)


def import_sdk(name: str, scheme: str, variable: str | None, extra: str) -> None:
    """Import what `build` needs; `ModelNotReady` with the extra's name if it is not there."""
    try:
        for module in ("pydantic_ai.direct", *_MODULES.get(scheme, _OPENAI_MODULES)):
            import_module(module)
    except ImportError as error:
        missing = f"{error.name or 'a package of it'} is not installed"
        raise ModelNotReady(name, missing, variable, extra) from None


def build(endpoint: Endpoint) -> tuple[Any, Callable[[], Any]]:
    """The pydantic-ai model, and a function that closes its connections."""
    scheme, model, url, key = endpoint
    return _BUILDERS.get(scheme, _openai)(scheme, model, key or NO_KEY, url)


def _openai(scheme: str, model: str, key: str, url: str | None) -> tuple[Any, Callable[[], Any]]:
    from openai import AsyncOpenAI
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.deepseek import DeepSeekProvider
    from pydantic_ai.providers.ollama import OllamaProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(api_key=key, base_url=url, max_retries=0, timeout=SILENCE_S)
    if scheme == "ollama":
        return OllamaModel(model, provider=OllamaProvider(openai_client=client)), client.close
    provider = DeepSeekProvider if scheme == "deepseek" else OpenAIProvider
    return OpenAIChatModel(model, provider=provider(openai_client=client)), client.close


def _anthropic(_: str, model: str, key: str, url: str | None) -> tuple[Any, Callable[[], Any]]:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(api_key=key, base_url=url, max_retries=0, timeout=SILENCE_S)
    return AnthropicModel(model, provider=AnthropicProvider(anthropic_client=client)), client.close


def _google(_: str, model: str, key: str, url: str | None) -> tuple[Any, Callable[[], Any]]:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    http = _http()
    provider = GoogleProvider(api_key=key, http_client=http, base_url=url)
    return GoogleModel(model, provider=provider), http.aclose


def _mistral(_: str, model: str, key: str, url: str | None) -> tuple[Any, Callable[[], Any]]:
    from mistralai.client import Mistral
    from pydantic_ai.models.mistral import MistralModel
    from pydantic_ai.providers.mistral import MistralProvider

    http, silence_ms = _http(), int(SILENCE_S * 1000)  # else it sets a limit of its own: 300 s
    client = Mistral(api_key=key, async_client=http, server_url=url, timeout_ms=silence_ms)
    return MistralModel(model, provider=MistralProvider(mistral_client=client)), http.aclose


def _http() -> Any:
    import httpx2

    return httpx2.AsyncClient(timeout=SILENCE_S, event_hooks={"response": [note]})


_OPENAI_MODULES = ("openai", "pydantic_ai.models.openai", "pydantic_ai.models.ollama")
_MODULES = {
    "anthropic": ("anthropic", "pydantic_ai.models.anthropic"),
    "google": ("google.genai", "pydantic_ai.models.google"),
    "mistral": ("mistralai", "pydantic_ai.models.mistral"),
}
_BUILDERS = {"anthropic": _anthropic, "google": _google, "mistral": _mistral}
