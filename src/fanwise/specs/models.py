"""Models in files: which one, and the options of its calls."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from fanwise.models.names import (
    EVERY_FAILURE,
    CacheSettings,
    On,
    Price,
    SchemaMode,
    Spec,
    TokensField,
    split,
)
from fanwise.models.port import Effort, Options
from fanwise.specs.model import Duration, Many, SpecModel
from fanwise.specs.secrets import KEEP_OUT, in_address, in_data


class PriceSpec(SpecModel):
    """Dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class CacheSpec(SpecModel):
    """`{path, ttl: 7d, always}`."""

    path: str | None = None
    ttl: Duration | None = None
    always: bool = False


class ModelSpec(SpecModel):
    """`openai:gpt-5-mini`, `{name, base_url, api_key_env, price, …}`, or `{models: [a, b], …}`."""

    models: Many[ModelSpec] = ()
    name: str
    base_url: str | None = None
    api_key_env: str | None = None
    price: PriceSpec | None = None
    max_tokens_field: TokensField | None = None
    schema_mode: SchemaMode | None = None
    cache: bool | str | CacheSpec | None = None
    on: Many[On] = EVERY_FAILURE
    spread: bool = False

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, given: Any) -> Any:
        if not isinstance(given, str | dict):
            problem = "must be a name such as `openai:gpt-5-mini`, or a mapping"
            raise ValueError(problem)  # noqa: TRY004 - pydantic takes no TypeError
        if isinstance(given, str):
            return {"name": given}
        models = given.get("models")
        if isinstance(models, list) and models and "name" not in given:
            names = [str(each.get("name") if isinstance(each, dict) else each) for each in models]
            return {**given, "name": " or ".join(names)}
        return given

    @field_validator("name")
    @classmethod
    def _known(cls, name: str, info: ValidationInfo) -> str:
        document = (info.context or {}).get("document")
        if not info.data.get("models") and (document is None or name not in document.objects):
            split(name)
        return name

    @field_validator("base_url")
    @classmethod
    def _public(cls, url: str | None) -> str | None:
        problem = None if url is None else in_address(url)
        if problem is not None:
            raise ValueError(f"{problem}: {KEEP_OUT}")
        return url

    def spec(self) -> Spec:
        """As `fanwise.models.connect` takes it."""
        price = None if self.price is None else Price(self.price.input, self.price.output)
        return Spec(
            self.name, self.base_url, self.api_key_env, price, self.max_tokens_field,
            self.schema_mode, self._cache(), tuple(each.spec() for each in self.models),
            tuple(self.on), self.spread,
        )  # fmt: skip

    def _cache(self) -> bool | str | CacheSettings | None:
        if not isinstance(self.cache, CacheSpec):
            return self.cache
        return CacheSettings(self.cache.path, self.cache.ttl, self.cache.always)


class MessageSpec(SpecModel):
    """One turn; its content is a template."""

    role: Literal["system", "user", "assistant"]
    content: str


class OptionsSpec(SpecModel):
    """`{temperature, top_p, max_tokens, stop, extra, reasoning, logprobs, prompt_cache}`."""

    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    stop: Many[str] = ()
    extra: dict[str, Any] = Field(default_factory=dict)
    reasoning: Effort | None = None
    logprobs: int | None = Field(default=None, ge=0)
    prompt_cache: bool = False

    @field_validator("stop", mode="before")
    @classmethod
    def _one(cls, given: Any) -> Any:
        return [given] if isinstance(given, str) else given

    @field_validator("extra")
    @classmethod
    def _public(cls, extra: dict[str, Any]) -> dict[str, Any]:
        problem = in_data(extra)
        if problem is not None:
            raise ValueError(f"{problem}: {KEEP_OUT}")
        return extra

    def options(self) -> Options:
        """As `fanwise.models.ask` takes them."""
        return Options(
            self.temperature, self.top_p, self.max_tokens, self.stop, dict(self.extra),
            self.reasoning, self.logprobs, self.prompt_cache,
        )  # fmt: skip
