"""A language model as fanwise sees it: one request in, one reply out. A port.

A model makes *one* attempt and nothing else: no retry, no cap, no cache, no default that is not
in the request. Those belong to the kernel, where they are bounded, paid for and recorded; an SDK
that retries behind one's back makes latencies and counts that mean nothing.

All of it is plain data, so that a request can be compared and a reply kept in a journal.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import msgspec

from fanwise.core.outcome import Usage
from fanwise.errors import UsageError

Role = Literal["system", "user", "assistant", "tool"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Schema = dict[str, Any]
_ROLES = frozenset(get_args(Role))
TOOL_CHOICES = ("auto", "required", "none")


def _check_text(what: str, text: Any) -> None:
    """Refuse lone surrogates, such as Python makes of bytes that are not UTF-8: no JSON has them.

    `text`: a text, or anything that is made of texts.
    """
    try:
        if isinstance(text, str):
            text.encode()
        elif text:
            msgspec.json.encode(text, enc_hook=str)
    except UnicodeEncodeError as error:
        found = f"the character {error.object[error.start]!r} at {error.start}"
        step = "Replace it, for instance by text.encode('utf-8', 'replace').decode()"
        raise UsageError(f"{what} has {found}, which cannot be sent", step) from None


def _check_each(what: str, given: Any, kind: type, step: str = "") -> None:
    if not isinstance(given, Sequence) or not all(isinstance(each, kind) for each in given):
        raise UsageError(f"the {what} are {given!r}", step or f"Give a tuple of `{kind.__name__}`")


class File(msgspec.Struct, frozen=True, omit_defaults=True):
    """An image or a document in a message: its bytes, or the URL where the provider fetches it."""

    media_type: str
    """`image/png`, `application/pdf`, …"""
    data: bytes | None = None
    url: str | None = None

    @staticmethod
    def of(source: str | Path | bytes, media_type: str | None = None) -> File:
        """A path (read now), a URL, or bytes with their `media_type`."""
        if isinstance(source, bytes):
            if media_type is None:
                raise UsageError("a file of bytes has no media type", "Give media_type='image/png'")
            return File(media_type, source)
        kind = media_type or mimetypes.guess_type(str(source).partition("?")[0])[0]
        if kind is None:
            raise UsageError(f"the media type of {str(source)!r} is unknown", "Give media_type")
        if isinstance(source, str) and source.startswith(("http://", "https://")):
            return File(kind, url=source)
        try:
            return File(kind, Path(source).read_bytes())
        except OSError as error:
            raise UsageError(f"cannot read {str(source)!r}: {error.strerror}") from None


class ToolCall(msgspec.Struct, frozen=True):
    """A tool that the model wants called. Answer it with `Message("tool", …, call_id=id)`."""

    id: str
    name: str
    arguments: dict[str, Any]


class Message(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One turn of a conversation. An assistant's turn at the end is a prefill: it is continued."""

    role: Role
    content: str
    files: tuple[File, ...] = ()
    """Images and documents, after the text. Only of a user's turn."""
    calls: tuple[ToolCall, ...] = ()
    """The tools that it called. Only of an assistant's turn."""
    call_id: str | None = None
    """Which of these calls a tool's turn answers."""
    provider_state: str = ""
    """That of the reply, with calls: its provider wants its thoughts back. See `Reply.message`."""

    def __post_init__(self) -> None:
        if self.role not in _ROLES:
            known = ", ".join(get_args(Role))
            raise UsageError(f"the role of a message is {self.role!r}", f"Known: {known}")
        if not isinstance(self.content, str):
            step = "Give a text; images and documents go into `files`"
            raise UsageError(f"the content of a message is {self.content!r}", step)
        if (self.role == "tool") != (self.call_id is not None):
            raise UsageError(
                "a message of the role tool answers a call, and only that", "Give both, or neither"
            )
        only = ("files", "user"), ("calls", "assistant"), ("provider_state", "assistant")
        for name, role in only:
            if getattr(self, name) and self.role != role:
                step = f"Give them with a message of the role {role}"
                raise UsageError(f"a message of the role {self.role} has {name}", step)
        _check_each("files of a message", self.files, File, "Give a tuple: (File.of(path),)")
        _check_each("calls of a message", self.calls, ToolCall)
        _check_text("the content of a message", self.content)
        _check_text("the calls of a message", self.calls)


class Tool(msgspec.Struct, frozen=True):
    """A function that the model may ask for. `parameters`: a JSON schema of its arguments."""

    name: str
    description: str
    parameters: Schema


class Options(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the model should answer. None leaves a setting to the provider."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    """Give it where a budget or a rate of tokens counts: without it the estimate is very high."""
    stop: tuple[str, ...] = ()
    extra: dict[str, Any] = {}
    """What only this provider knows: fields of its request, or pydantic-ai's settings."""
    reasoning: Effort | None = None
    """How hard a model that reasons shall think."""
    logprobs: int | None = None
    """Return the log probability of each token, and this many alternatives."""
    prompt_cache: bool = False
    """Mark the prompt for the provider's cache, where it wants a mark."""
    tool_choice: str | None = None
    """Whether to call a tool: "auto", "required", "none", or the name of the one to call."""

    def __post_init__(self) -> None:
        """A bound that does not bound would reserve too little, so it is refused."""
        for name, least in (("max_tokens", 1), ("logprobs", 0)):
            count = getattr(self, name)
            if count is not None and (type(count) is not int or count < least):
                raise UsageError(f"{name} is {count!r}", f"Give a whole number from {least} on")
        for name in ("temperature", "top_p"):
            number = getattr(self, name)
            if number is not None and not (isinstance(number, int | float) and isfinite(number)):
                raise UsageError(f"{name} is {number!r}", "Give a number")
        if not isinstance(self.extra, Mapping):
            raise UsageError(f"extra is {self.extra!r}", "Give a mapping")
        if isinstance(self.stop, str):
            raise UsageError(f"stop is {self.stop!r}", f"Give a tuple: ({self.stop!r},)")
        if self.reasoning is not None and self.reasoning not in get_args(Effort):
            known = ", ".join(get_args(Effort))
            raise UsageError(f"reasoning is {self.reasoning!r}", f"Known: {known}")
        _check_text("stop", self.stop)
        _check_text("extra", self.extra)


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything that a reply depends on."""

    messages: tuple[Message, ...]
    options: Options = Options()
    schema: Schema | None = None
    """A JSON schema: the reply has a `value` that matches it, or the attempt is a `BadOutput`."""
    seed: int | None = None
    """Sent where the provider takes one."""
    tools: tuple[Tool, ...] = ()
    """What the model may call. With tools a reply may have `calls` in place of text."""

    def __post_init__(self) -> None:
        _check_each("messages of a request", self.messages, Message)
        if not self.messages:
            raise UsageError("a request has no messages", "Give a text, or at least one message")
        if not isinstance(self.options, Options):
            raise UsageError(f"options is {self.options!r}", "Give Options(temperature=0)")
        if not isinstance(self.schema, Mapping | None):
            raise UsageError(f"schema is {self.schema!r}", "Give a JSON schema, as a mapping")
        _check_each("tools of a request", self.tools, Tool, "Functions go to `ask(…, tools=[f])`")
        _check_text("the schema", self.schema)
        _check_text("a tool", self.tools)

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
    reasoning: int = 0
    """Of the output, how many the model thought with, where the provider says so."""
    cache_written: int = 0
    """Of the input, how many were put into the provider's cache; they cost more."""

    @property
    def total(self) -> int | None:
        if self.input is None or self.output is None:
            return None
        return self.input + self.output


class TokenProbability(msgspec.Struct, frozen=True):
    """One token of a reply, how likely it was, and the likeliest in its place."""

    token: str
    logprob: float | None
    """None: the server gave no number."""
    alternatives: dict[str, float] = {}


class Reply(msgspec.Struct, frozen=True):
    """A model's reply. `to_json` and `from_json` take it through a journal."""

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
    """stop, length, tool_call, content_filter, error …; `simulated` for a simulated one."""
    reasoning: str = ""
    """What the model thought, where the provider shows it."""
    calls: tuple[ToolCall, ...] = ()
    """The tools that it wants called."""
    logprobs: tuple[TokenProbability, ...] = ()
    """If the options ask for them."""
    provider_state: str = ""
    """With calls: its thoughts as the provider wants them back, with their signatures."""
    from_cache: bool = False
    """It was asked before: it cost nothing and took no time. `usage` is what it was then."""

    def to_json(self) -> dict[str, Any]:
        """As plain data: return this from an item whose run is durable."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        for rare in ("reasoning", "calls", "logprobs", "provider_state", "from_cache"):
            if not plain[rare]:
                del plain[rare]
        return plain

    @property
    def message(self) -> Message:
        """As a turn of the conversation that goes on."""
        state = self.provider_state
        return Message("assistant", self.text, calls=self.calls, provider_state=state)

    @staticmethod
    def from_json(plain: Mapping[str, Any]) -> Reply:
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


ALL = "all"


def cap_names(model: Model) -> list[str]:
    """The caps that bound its calls where they are declared."""
    key = [] if model.key is None else [f"key:{model.key}"]
    server = getattr(model, "server", None)
    found = [ALL, model.provider, *key, *([server] if server else ()), model.name]
    return [*dict.fromkeys(found)]


Prompt = str | Message | Iterable[Message | Mapping[str, Any]] | Request


def as_request(
    prompt: Prompt,
    options: Options = Options(),  # noqa: B008 - frozen
    *,
    schema: Schema | None = None,
    seed: int | None = None,
) -> Request:
    """A request from a text (of the user), from messages, or as it is."""
    if isinstance(prompt, Request):
        return prompt
    if isinstance(prompt, str):
        prompt = Message("user", prompt)
    if isinstance(prompt, Mapping) or not isinstance(prompt, Iterable):
        prompt = [prompt]
    return Request(tuple(map(_as_message, prompt)), options, schema, seed)


def _as_message(given: object) -> Message:
    """A message, or a mapping with `role` and `content`."""
    if isinstance(given, Message):
        return given
    wanted = "Give a text, `Message(role, content)`, or a mapping with role and content"
    if not isinstance(given, Mapping):
        raise UsageError(f"a message is {given!r}", wanted)
    try:
        return msgspec.convert(dict(given), Message)
    except msgspec.ValidationError as error:
        raise UsageError(f"a message cannot be read: {error}", wanted) from None
