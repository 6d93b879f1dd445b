"""A language model as fanwise sees it: one request in, one reply out. A port.

A model makes *one* attempt and nothing else: no retry, no cap, no cache, no default that is not
in the request. Those belong to the kernel, where they are bounded, paid for and recorded; an SDK
that retries behind one's back makes latencies and counts that mean nothing.

All of it is plain data, so that a request can be compared and a reply kept in a journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol

import msgspec

from fanwise.core.outcome import Usage

Role = Literal["system", "user", "assistant"]
Schema = dict[str, Any]


class Message(msgspec.Struct, frozen=True, gc=False):
    """One turn of a conversation."""

    role: Role
    content: str


class Options(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the model shall answer. What is None is left to the provider."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    """Give it where a budget or a rate of tokens counts: without it the estimate is very high."""
    stop: tuple[str, ...] = ()
    extra: dict[str, Any] = {}
    """What only this provider knows, by the names of pydantic-ai's settings."""


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """All that a reply depends on."""

    messages: tuple[Message, ...]
    options: Options = Options()
    schema: Schema | None = None
    """A JSON schema: the reply has a `value` that matches it, or the attempt is a `BadOutput`."""
    seed: int | None = None
    """Sent where the provider takes one."""

    def to_json(self) -> dict[str, Any]:
        """As plain data, for a journal or a file."""
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return plain


class Tokens(msgspec.Struct, frozen=True, gc=False):
    """What the provider counted; None where it does not say."""

    input: int | None = None
    output: int | None = None
    cached: int = 0
    """Of the input, how many came from the provider's cache; they cost less."""

    @property
    def total(self) -> int | None:
        """Both, if both are known."""
        if self.input is None or self.output is None:
            return None
        return self.input + self.output


class Reply(msgspec.Struct, frozen=True):
    """What a model gave. `to_json` and `from_json` take it through a journal and back."""

    text: str
    model: str
    """The name of the model that answered, as the provider tells it."""
    value: Any = None
    """The text parsed by the request's schema."""
    usage: Tokens = Tokens()
    usd: float | None = None
    """None: the price is unknown. Never 0 for that."""
    first_token_s: float | None = None
    """From the request to the first piece of text."""
    ran_s: float = 0.0
    finish_reason: str | None = None
    """stop, length, content_filter, error …; `simulated` for a simulated one."""

    def to_json(self) -> dict[str, Any]:
        """As plain data: return this from an item whose run is durable."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    @staticmethod
    def from_json(plain: Mapping[str, Any]) -> Reply:
        """What `to_json` gave."""
        return msgspec.convert(plain, Reply)


class Model(Protocol):
    """A language model. Cancelling `reply` closes its connection."""

    @property
    def name(self) -> str:
        """As one asks for it: `openai:gpt-5-mini`."""

    @property
    def provider(self) -> str:
        """Whose it is: `openai`. A cap of that name bounds all its models."""

    @property
    def key(self) -> str | None:
        """The environment variable that holds the key, never the key. None: it needs none."""

    def estimate(self, request: Request) -> Usage:
        """The most that one attempt may cost; `usd` is None where the price is unknown."""

    async def reply(self, request: Request) -> Reply:
        """One attempt. Raises a `ModelError`."""


Prompt = str | Message | Iterable[Message] | Request


def as_request(
    prompt: Prompt,
    options: Options = Options(),  # noqa: B008 - frozen
    *,
    schema: Schema | None = None,
    seed: int | None = None,
) -> Request:
    """A request of a text (said by the user), of messages, or as it is."""
    if isinstance(prompt, Request):
        return prompt
    if isinstance(prompt, str):
        prompt = Message("user", prompt)
    messages = (prompt,) if isinstance(prompt, Message) else tuple(prompt)
    return Request(messages, options, schema, seed)
