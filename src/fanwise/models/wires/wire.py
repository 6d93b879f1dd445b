"""What every family of providers has to do: one streamed attempt, its errors in our words.

Always a stream, also where only the end is wanted: several servers go on generating, and
charging, after the client of a non-streamed request has gone. Leaving the stream closes the
connection, so a cancelled call frees the server at its next token.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from math import isfinite
from typing import Any, NamedTuple, Protocol, TypeGuard, get_args

import msgspec

from fanwise.errors import (
    ModelError,
    ModelOverloaded,
    ModelRateLimited,
    ModelRejected,
    ModelUnreachable,
    UsageError,
)
from fanwise.kernel import meter
from fanwise.models import pieces
from fanwise.models.names import SchemaMode
from fanwise.models.port import Message, Options, Request, TokenProbability, Tokens

MODES: tuple[SchemaMode, ...] = get_args(SchemaMode)
MOST_TOKENS = 10**12
MOST_REPLY = 10_000_000
"""Characters of a reply, its thoughts and its calls: several times what any model can write."""
MOST_EVENT = 64_000_000
"""Bytes of one event: a whole reply in one piece fits, each character escaped."""
OUTPUT_TOOL = "reply"
"""The tool whose arguments are the reply, where a schema is asked for as a tool call."""
_PLACES = {
    "Connect another model": "model",
    "Give it as the prompt": "messages input contents system instructions",
    "Give `tools` of the request": "tools functions",
    "Give `tool_choice` of the options": "tool_choice function_call",
    "Give `schema` of the request": "response_format output_format output_config text",
    "Give `max_tokens` of the options": "max_tokens max_completion_tokens max_output_tokens",
    "Give `temperature` of the options": "temperature",
    "Give `top_p` of the options": "top_p",
    "Give `stop` of the options": "stop stop_sequences",
    "Give `reasoning` of the options": "reasoning_effort effort",
    "Give `logprobs` of the options": "logprobs top_logprobs",
    "Give `seed` of the request": "seed random_seed",
    "Replies are always streamed": "stream stream_options",
    "Ask several times": "n",
    "Give `retry` to `ask`": "max_retries",
    "Give `timeout` to `ask`": "timeout request_timeout first_event_timeout",
}
OURS = {name: step for step, names in _PLACES.items() for name in names.split()}
"""Fields that `extra` may not set, and what to do instead."""
FINER = dict.fromkeys(("thinking", "thinking_config", "reasoning"), "reasoning")
FINER["cache"] = "prompt_cache"
"""Fields that say more than an option does: they may be set in its place, not beside it."""
_log = logging.getLogger(__name__)
_opened: ContextVar[list[Any] | None] = ContextVar("fanwise_answers", default=None)
_PREFIX = re.compile("^(openai|anthropic|google|mistral)_")
IN_WORDS = "Answer only with JSON that matches this schema, and with nothing around it:\n\n{schema}"


class Endpoint(NamedTuple):
    """Where a model is, and by which key it is reached."""

    scheme: str
    model: str
    base_url: str | None
    key: str | None
    max_tokens_field: str | None = None
    schema_mode: SchemaMode | None = None

    @property
    def issuer(self) -> str:
        """Who can read the state that comes with a reply."""
        return f"{self.scheme} {self.base_url}"

    def __repr__(self) -> str:
        """Without the key: a traceback with its locals may go anywhere."""
        return f"<Endpoint {self.scheme}:{self.model} at {self.base_url}>"


class ErrorFacts(NamedTuple):
    """What an SDK's error says, in our words."""

    kind: type[ModelError]
    text: str
    status: int | None = None
    retry_after: float | None = None
    unbilled: bool = False
    """An error in place of an answer, or nothing was sent: it cost nothing."""


class TooLong(Exception):
    """A reply has more than so many characters, or one event of its stream so many bytes."""

    def __init__(self, limit: int, unit: str) -> None:
        self.limit = limit
        self.unit = unit


class Reading:
    """What has come so far; it stays here when the stream breaks."""

    def __init__(self) -> None:
        self.text = ""
        self.reasoning = ""
        self.calls: dict[int, list[str]] = {}
        """By their place in the answer: id, name, and arguments as JSON."""
        self.logprobs: list[TokenProbability] = []
        self.state: dict[str, Any] = {}
        """What goes back to the provider with a turn that has calls; `issuer` says to whom."""
        self.tokens = Tokens()
        """Of a stream that broke, the output is unknown: what was told is what it was so far."""
        self.first_token_s: float | None = None
        self.finish_reason: str | None = None
        self.refused = False
        """The text is the model's refusal."""
        self.model: str | None = None
        self._clock = asyncio.get_running_loop().time
        self._began = self._clock()
        self._size = 0

    def begun(self) -> None:
        """The first token is here, of text, thought or call."""
        if self.first_token_s is None:
            self.first_token_s = self._clock() - self._began
            meter.first_token(self.first_token_s)

    def add(self, text: str) -> None:
        """A piece of the answer."""
        self.count(len(text))
        self.text += text
        pieces.emit(text)

    def think(self, text: str) -> None:
        """A piece of what the model thinks."""
        self.count(len(text))
        self.reasoning += text
        pieces.emit(text, thought=True)

    def count(self, characters: int) -> None:
        """So many more have come. `TooLong`: a server without an end must not fill the memory."""
        self._size += characters
        if self._size > MOST_REPLY:
            raise TooLong(MOST_REPLY, "characters")

    def take_output_call(self) -> None:
        """The reply was asked for as a call of `OUTPUT_TOOL`: its arguments are the text."""
        for place, (_, name, arguments) in list(self.calls.items()):
            if name == OUTPUT_TOOL:
                self.text = arguments
                del self.calls[place]
        if not self.calls and self.finish_reason == "tool_call":
            self.finish_reason = "stop"

    def state_as_json(self) -> str:
        return msgspec.json.encode(self.state).decode() if "issuer" in self.state else ""

    @property
    def ran_s(self) -> float:
        """Seconds since the request."""
        return self._clock() - self._began


class Wire(Protocol):
    """A client of one endpoint, in one event loop."""

    async def read(self, request: Request, reading: Reading, mode: SchemaMode) -> None:
        """Send the request, and read to the end. Cancelling closes the connection."""

    def first_mode(self) -> SchemaMode:
        """How this model is asked for a schema first."""

    def problem(self, error: Exception) -> ErrorFacts | None:
        """What this error means; None for one that is not the provider's doing."""

    async def close(self) -> None:
        """Close its connections."""


def extra_of(options: Options) -> tuple[dict[str, Any], dict[str, Any]]:
    """`extra`, and its `extra_body`. `UsageError` for a field that has a place of its own.

    It would override what the options say, and a reply would be cached under the wrong ones.
    """
    extra = dict(options.extra)
    body = extra.pop("extra_body", None) or {}
    if not isinstance(body, Mapping):
        raise UsageError(f"extra_body is {body!r}", "Give a mapping")
    for name in (*extra, *body):
        plain = _PREFIX.sub("", name)
        if plain in OURS:
            raise UsageError(f"extra has {name!r}", OURS[plain])
        if getattr(options, FINER.get(plain, ""), None):
            raise UsageError(f"extra has {name!r} beside {FINER[plain]}", "Give one of them")
    return extra, dict(body)


def state_for(issuer: str, message: Message) -> dict[str, Any]:
    """What came with this turn, if it came from there."""
    if not message.provider_state:
        return {}
    state = msgspec.json.decode(message.provider_state, type=dict[str, Any])
    return state if state.get("issuer") == issuer else {}


@functools.cache
def warn_not_sent(model: str, feature: str) -> None:
    """Once for each model, because this is cached."""
    _log.warning("%s takes no %s: it is not sent", model, feature)


async def bound_events(response: Any) -> None:
    """An event hook for httpx. The SDKs gather an event up to its blank line, however long it is.

    In place of the method, because a wrapped stream would be counted before it is unpacked.
    """
    response.aiter_bytes = partial(_bounded, response.aiter_bytes)


async def _bounded(chunks: Callable[..., AsyncIterator[bytes]], *size: int) -> AsyncIterator[bytes]:
    held, before = 0, b""
    async for chunk in chunks(*size):
        seen = before + chunk
        end = max(seen.rfind(b"\n\n"), seen.rfind(b"\r\n\r\n"), seen.rfind(b"\r\r"))
        held = held + len(chunk) if end < 0 else len(seen) - end
        if held > MOST_EVENT:
            raise TooLong(MOST_EVENT, "bytes in one event")
        before = chunk[-3:]
        yield chunk


@asynccontextmanager
async def answers_closed() -> AsyncGenerator[None, None]:
    """Close every HTTP response that this attempt opened.

    The SDKs of Google and Mistral do more between the head of a response and its stream. A cancel
    at that moment would leave the connection open, and the server generating and charging.
    """
    opened: list[Any] = []
    token = _opened.set(opened)
    try:
        yield
    finally:
        _opened.reset(token)
        for answer in opened:
            await answer.aclose()


async def note(answer: Any) -> None:
    """An event hook for httpx: a response has begun."""
    opened = _opened.get()
    if opened is not None:
        opened.append(answer)


def counts(
    sent: object, written: object, cached: object, thought: object, kept: object = 0
) -> Tokens:
    """The tokens that a server reports, as far as they can be true: other numbers are unknown."""
    sent, written, cached, thought, kept = map(_count, (sent, written, cached, thought, kept))
    read = min(cached or 0, sent or 0)
    return Tokens(sent, written, read, thought or 0, min(kept or 0, (sent or 0) - read))


def _count(told: object) -> int | None:
    return told if type(told) is int and 0 <= told < MOST_TOKENS else None


def probability(token: str, told: object, others: Mapping[str, object]) -> TokenProbability:
    """Of a token. Some servers give no number for what is impossible: then there is none."""
    known = {name: value for name, value in others.items() if _is_number(value)}
    return TokenProbability(token, told if _is_number(told) else None, known)


def _is_number(told: object) -> TypeGuard[float]:
    return isinstance(told, int | float) and isfinite(told)


def kind_of_status(status: int | None) -> type[ModelError]:
    """Without a status: a stream that made no sense."""
    if status is None:
        return ModelUnreachable
    if status == 429:
        return ModelRateLimited
    return ModelOverloaded if status >= 500 or status == 408 else ModelRejected


def retry_after(headers: Mapping[str, str] | None) -> float | None:
    """Seconds, in all their forms: `retry-after-ms`, seconds, fractions of them, or a date."""
    found = {name.lower(): value for name, value in (headers or {}).items()}
    for name, scale in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(found[name]) / scale
        except (KeyError, ValueError):
            continue
        if isfinite(seconds) and seconds >= 0:
            return seconds
    try:
        then = parsedate_to_datetime(found["retry-after"])
    except (KeyError, ValueError):
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (then - datetime.now(UTC)).total_seconds())


def words_of(body: object, fallback: str) -> str:
    """The provider's own words in an error's body, if it had some."""
    if isinstance(body, str):  # Mistral's comes as it was sent
        try:
            body = msgspec.json.decode(body)
        except msgspec.DecodeError:
            return fallback
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    return str(message) if message else fallback
