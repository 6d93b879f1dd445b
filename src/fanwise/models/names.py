"""Model names: `provider:model`, as people write them, and what stands behind each provider.

One table says for every provider which variable holds its key, where its server is and which
extra it needs: so that an error can name them before anything heavy is imported.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal

import msgspec

from fanwise.errors import UnknownModel, UsageError


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Dollars per million tokens, for a model that the price list lacks."""

    input: float
    output: float


SchemaMode = Literal["json_schema", "json_object", "tool", "prompt"]
"""How a provider is asked to keep to a schema, in the order in which they are tried."""
TokensField = Literal["max_tokens", "max_completion_tokens"]


On = Literal["rate_limit", "error", "timeout"]
EVERY_FAILURE: tuple[On, ...] = ("rate_limit", "error", "timeout")


class CacheSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where replies are cached, and for how many seconds. See `reply_cache.py`."""

    path: str | None = None
    ttl: float | None = None
    always: bool = False
    """Also with a temperature and without a seed."""

    def __post_init__(self) -> None:
        if self.ttl is not None and not 0 < self.ttl < float("inf"):
            raise ValueError(f"ttl is {self.ttl:g}: give seconds, more than 0")


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A model in a file: `{name, base_url, api_key_env, price, …}`."""

    name: str = ""
    base_url: str | None = None
    api_key_env: str | None = None
    price: Price | None = None
    max_tokens_field: TokensField | None = None
    """The field that the server obeys; default: OpenAI's new name there, else `max_tokens`."""
    schema_mode: SchemaMode | None = None
    """How the server is asked for a schema; default: the first of them that it takes."""
    cache: bool | str | CacheSettings | None = None
    """Keep replies, so that an equal request is not paid again: True, a path, or settings."""
    models: tuple[Spec, ...] = ()
    """Several, asked in this order where one fails; then `name` is what they are called."""
    on: tuple[On, ...] = EVERY_FAILURE
    """The failures after which the next of `models` is asked."""
    spread: bool = False
    """Ask the one of `models` that is least busy first."""

    def __post_init__(self) -> None:
        if not self.name and not self.models:
            raise ValueError("give `name` or `models`")

    @property
    def title(self) -> str:
        return self.name or " or ".join(each.title for each in self.models)


class Provider(msgspec.Struct, frozen=True):
    extra: str
    key: str
    url_variable: str | None = None
    base_url: str | None = None
    key_optional: bool = False
    """Servers of one's own often take any key."""
    schema_mode: SchemaMode = "json_schema"
    """How it is asked for a schema first."""
    prices: str | None = None
    """Its name in the price list; default: ours."""


BEDROCK = "https://bedrock-mantle.{AWS_REGION}.api.aws/v1"
"""Bedrock's own endpoint for chat completions; the region is the environment's."""


def aws_region() -> str:
    set_ = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return set_ or "us-east-1"


def _own(key: str, url_variable: str, base_url: str) -> Provider:
    """Your own server, with an OpenAI-compatible API."""
    return Provider("openai", key, url_variable, base_url, key_optional=True)


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "anthropic": Provider("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "google": Provider("google", "GOOGLE_API_KEY"),
    "vertex": Provider("google", "GOOGLE_API_KEY", key_optional=True, prices="google"),
    "mistral": Provider("mistral", "MISTRAL_API_KEY"),
    "openai-responses": Provider("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", prices="openai"),
    "azure": Provider("openai", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"),
    "bedrock": Provider(
        "bedrock",
        "AWS_BEARER_TOKEN_BEDROCK",
        "BEDROCK_BASE_URL",
        BEDROCK,
        key_optional=True,  # without it requests are signed with AWS credentials
        prices="aws",
    ),
    "deepseek": Provider(
        "openai", "DEEPSEEK_API_KEY", None, "https://api.deepseek.com", schema_mode="json_object"
    ),
    "groq": Provider("openai", "GROQ_API_KEY", None, "https://api.groq.com/openai/v1"),
    "xai": Provider("openai", "XAI_API_KEY", None, "https://api.x.ai/v1", prices="x-ai"),
    "openrouter": Provider("openai", "OPENROUTER_API_KEY", None, "https://openrouter.ai/api/v1"),
    "together": Provider("openai", "TOGETHER_API_KEY", None, "https://api.together.xyz/v1"),
    "fireworks": Provider(
        "openai", "FIREWORKS_API_KEY", None, "https://api.fireworks.ai/inference/v1"
    ),
    "ollama": _own("OLLAMA_API_KEY", "OLLAMA_BASE_URL", "http://localhost:11434/v1"),
    "vllm": _own("VLLM_API_KEY", "VLLM_BASE_URL", "http://localhost:8000/v1"),
    "lmstudio": _own("LMSTUDIO_API_KEY", "LMSTUDIO_BASE_URL", "http://localhost:1234/v1"),
    "llamacpp": _own("LLAMACPP_API_KEY", "LLAMACPP_BASE_URL", "http://localhost:8080/v1"),
}

BUILT_IN: Mapping[str, str] = {
    "local": "fanwise.models.local.model",
    "replay": "fanwise.models.replay",
    "sim": "fanwise.models.sim",
}
"""Schemes that are no provider: a module whose `open_model(spec)` makes the model."""

_MAKERS = {
    "gpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude": "anthropic",
    "gemini": "google",
    "mistral": "mistral",
    "ministral": "mistral",
    "codestral": "mistral",
    "deepseek": "deepseek",
    "llama": "ollama",
    "qwen": "ollama",
}


def as_spec(given: object) -> Spec:
    if isinstance(given, Spec):
        return given
    if isinstance(given, str):
        return Spec(given)
    if not isinstance(given, Mapping):
        raise UsageError(f"a model is {given!r}", "Give a name such as 'openai:gpt-5-mini'")
    plain = dict(given)
    if isinstance(plain.get("models"), Sequence) and not isinstance(plain["models"], str):
        plain["models"] = [
            {"name": each} if isinstance(each, str) else each for each in plain["models"]
        ]
    try:
        return msgspec.convert(plain, Spec)
    except msgspec.ValidationError as error:
        wanted = "Give name or models, and if need be base_url, api_key_env, price and so on"
        raise UsageError(f"a model cannot be read: {error}", wanted) from None


def split(name: str) -> tuple[str, str]:
    """Split `openai:gpt-5-mini` in two. `UnknownModel` suggests the nearest known name."""
    scheme, colon, rest = name.partition(":")
    if not colon:
        raise UnknownModel(name, "has no provider", _provider_step(name))
    if scheme not in PROVIDERS and scheme not in BUILT_IN:
        raise UnknownModel(name, f"has the unknown provider {scheme!r}", _near(scheme, rest))
    if not rest and scheme in PROVIDERS:
        raise UnknownModel(name, "names no model", f"Write {scheme}:MODEL")
    return scheme, rest


def _provider_step(name: str) -> str:
    for beginning, provider in _MAKERS.items():
        if name.lower().startswith(beginning):
            return f"Did you mean {provider + ':' + name!r}?"
    return f"Write PROVIDER:{name}, with one of: {_known()}"


def _near(scheme: str, rest: str) -> str:
    close = get_close_matches(scheme.lower(), [*PROVIDERS, *BUILT_IN], n=1)
    return f"Did you mean {close[0] + ':' + rest!r}?" if close else f"Known: {_known()}"


def _known() -> str:
    return ", ".join([*PROVIDERS, *BUILT_IN])


def shown(spec: Spec) -> dict[str, Any]:
    """A spec as plain data, for a run. It has the key's variable, never the key."""
    plain: dict[str, Any] = msgspec.to_builtins(spec)
    return {name: value for name, value in plain.items() if value is not None}
