"""Chat completions, over the official `openai` client: OpenAI, and all that speak as it does.

pydantic-ai's model for them takes 2.0 x the start and 1.7 x the CPU of a call with the SDK alone
(`python -m bench models`). So this family, which most calls go to, is read from the SDK's stream.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import msgspec

from fanwise.errors import (
    ModelError,
    ModelQuota,
    ModelRefused,
    ModelRejected,
    ModelUnreachable,
    UsageError,
    one_line,
)
from fanwise.models.finish import FILTERED
from fanwise.models.names import PROVIDERS, SchemaMode, aws_region
from fanwise.models.port import (
    TOOL_CHOICES,
    File,
    Message,
    Options,
    Request,
    Schema,
    TokenProbability,
    Tokens,
    Tool,
)
from fanwise.models.wires.think_tags import ThinkTags, take_detail
from fanwise.models.wires.wire import (
    IN_WORDS,
    OUTPUT_TOOL,
    Endpoint,
    ErrorFacts,
    Reading,
    counts,
    extra_of,
    kind_of_status,
    probability,
    retry_after,
    state_for,
    warn_not_sent,
    words_of,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI

AZURE_VERSION = "2024-10-21"
_DETAILS = "reasoning_details"
_THOUGHTS = (_DETAILS, "reasoning_content", "reasoning")
"""Fields of a message with what the model thought."""
_NO_THOUGHTS = {"groq"}
"""Servers that refuse them in a request."""
_ONE_REQUEST = {"Connection": "close"}
"""On a busy machine llama.cpp's server may close a kept connection as the next request arrives."""
_QUOTA = re.compile("quota|billing|credit|spend_limit|usage_limit")
_NOT_STRICT = {
    "minLength", "maxLength", "minProperties", "maxProperties", "patternProperties", "allOf", "not",
    "propertyNames", "uniqueItems", "contains", "dependentRequired", "if", "prefixItems",
}  # fmt: skip
"""What OpenAI's strict mode does not take."""


class OpenAIChat:
    """One endpoint in one event loop."""

    def __init__(self, endpoint: Endpoint, **settings: Any) -> None:
        self.client = _client(endpoint, settings)
        self._endpoint = endpoint
        host = urlsplit(endpoint.base_url or "").hostname
        own = endpoint.scheme == "azure" or host in (None, "api.openai.com")
        self._most = endpoint.max_tokens_field or ("max_completion_tokens" if own else "max_tokens")

    def first_mode(self) -> SchemaMode:
        provider = PROVIDERS.get(self._endpoint.scheme)
        return "json_schema" if provider is None else provider.schema_mode

    async def read(self, request: Request, reading: Reading, mode: SchemaMode) -> None:
        from openai import AsyncStream

        body = self._body(request, mode)
        headers = body.pop("extra_headers", {})
        usage: Mapping[str, Any] = {}
        ended, tags = False, ThinkTags()
        async with await self.client.post(
            "/chat/completions",
            cast_to=object,
            body=body,
            options={"headers": headers},
            stream=True,
            stream_cls=AsyncStream[object],
        ) as stream:
            try:
                async for chunk in stream:
                    try:
                        usage = chunk.get("usage") or usage  # type: ignore[attr-defined]
                        _take(cast(dict[str, Any], chunk), reading, tags)
                    except (AttributeError, KeyError, TypeError) as error:
                        raise BadStream(f"{one_line(error)} in {str(chunk)[:200]}") from None
                ended = reading.model is not None or reading.first_token_s is not None
            finally:
                if usage:
                    known = ended or reading.finish_reason is not None
                    reading.tokens = _tokens(usage, known=known)
        if not ended:
            raise BadStream("nothing came")
        if reading.state and self._endpoint.scheme not in _NO_THOUGHTS:
            reading.state["issuer"] = self._endpoint.issuer
        _add(reading, *tags.feed("", last=True))
        if reading.refused:
            reading.finish_reason = FILTERED
        if request.schema is not None and mode == "tool":
            reading.take_output_call()

    def problem(self, error: Exception) -> ErrorFacts | None:
        """The SDK's errors, and a stream that is none."""
        import httpx2
        import openai

        if isinstance(error, BadStream | JSONDecodeError):
            return ErrorFacts(ModelUnreachable, f"the answer is no stream of events: {error}")
        if not isinstance(error, openai.APIError):
            ours = isinstance(error, openai.OpenAIError)  # it could not sign the request
            return ErrorFacts(ModelRejected, str(error), unbilled=True) if ours else None
        text, cause = words_of(error.body, error.message), error.__cause__
        token = error.request.headers.get("x-amz-security-token")
        if token:  # AWS repeats what it was sent when a signature is wrong
            text = text.replace(token, "[token]")
        if isinstance(error, openai.APIStatusError):
            status = error.status_code
            after = retry_after(error.response.headers)
            return ErrorFacts(_kind(error, status), text, status, after, unbilled=True)
        if isinstance(error, openai.APIConnectionError):
            unsent = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
            return ErrorFacts(ModelUnreachable, text, unbilled=isinstance(cause, unsent))
        return ErrorFacts(_kind(error, _status_in_stream(error)), text)

    async def close(self) -> None:
        await self.client.close()

    def _body(self, request: Request, mode: SchemaMode) -> dict[str, Any]:
        options = request.options
        if options.prompt_cache:
            warn_not_sent(f"{self._endpoint.scheme}:{self._endpoint.model}", "prompt_cache")
        prefilled = request.messages[-1].role == "assistant" and not request.messages[-1].calls
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "messages": _messages(request.messages, self._endpoint.issuer),
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": options.temperature,
            "top_p": options.top_p,
            self._most: options.max_tokens,
            "stop": list(options.stop) or None,
            "seed": request.seed,
            "reasoning_effort": options.reasoning,
            "logprobs": None if options.logprobs is None else True,
            "top_logprobs": options.logprobs or None,
            "tools": [_tool(each) for each in request.tools] or None,
            "tool_choice": _choice(options.tool_choice),
        }
        if prefilled and self._endpoint.scheme == "vllm":  # others go on by themselves, or never
            body |= {"continue_final_message": True, "add_generation_prompt": False}
        if request.schema is not None:
            _ask_for(request.schema, mode, body)
        body = {name: value for name, value in body.items() if value is not None}
        return body | _extra(options)


class BadStream(Exception):
    """The server said 200, and then nothing, or no chunks of a completion."""


def _client(endpoint: Endpoint, settings: dict[str, Any]) -> AsyncOpenAI:
    from openai import AsyncAzureOpenAI, AsyncOpenAI, OpenAIError

    url, key = endpoint.base_url, endpoint.key or "no-key"  # the SDK refuses to send nothing
    if endpoint.scheme == "azure" and "/openai/v1" not in (url or ""):
        return AsyncAzureOpenAI(
            azure_endpoint=url or "", api_key=key, api_version=AZURE_VERSION, **settings
        )
    if endpoint.scheme == "bedrock" and endpoint.key is None:
        from openai.providers import bedrock

        try:
            return AsyncOpenAI(provider=bedrock(region=aws_region(), base_url=url), **settings)
        except OpenAIError as error:
            step = "Make AWS_REGION and the address agree"
            raise UsageError(f"bedrock:{endpoint.model} cannot be reached: {error}", step) from None
    headers = _ONE_REQUEST if endpoint.scheme == "local" else None
    return AsyncOpenAI(api_key=key, base_url=url, default_headers=headers, **settings)


def _extra(options: Options) -> dict[str, Any]:
    extra, body = extra_of(options)
    return {name.removeprefix("openai_"): value for name, value in extra.items()} | body


def _messages(messages: Iterable[Message], issuer: str) -> list[dict[str, Any]]:
    """Thoughts go back with the calls that they led to, to the server that thought them.

    DeepSeek and others refuse such a turn without them. Once there were some, they also want the
    field on later turns that have none.
    """
    made, field = [], None
    for each in messages:
        message = _message(each)
        if each.calls:
            thoughts = state_for(issuer, each)
            thoughts.pop("issuer", None)
            message |= thoughts or ({field: ""} if field else {})
            field = next((name for name in thoughts if name != _DETAILS), field)
        made.append(message)
    return made


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    if message.calls:
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": msgspec.json.encode(call.arguments).decode(),
                },
            }
            for call in message.calls
        ]
        return {"role": message.role, "content": message.content or None, "tool_calls": calls}
    if message.files:
        text = {"type": "text", "text": message.content}
        return {"role": message.role, "content": [text, *map(_file, message.files)]}
    return {"role": message.role, "content": message.content}


def _file(file: File) -> dict[str, Any]:
    data = b64encode(file.data or b"").decode()
    url = file.url or f"data:{file.media_type};base64,{data}"
    if file.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    if file.url is not None:
        raise UsageError(
            f"chat completions take no {file.media_type} by its URL", "Give its path or its bytes"
        )
    return {"type": "file", "file": {"filename": "file", "file_data": url}}


def _choice(given: str | None) -> Any:
    named = given is not None and given not in TOOL_CHOICES
    return {"type": "function", "function": {"name": given}} if named else given


def _tool(tool: Tool) -> dict[str, Any]:
    return {"type": "function", "function": msgspec.to_builtins(tool)}


def _ask_for(schema: Schema, mode: SchemaMode, body: dict[str, Any]) -> None:
    if mode == "json_schema":
        named: dict[str, Any] = {"name": OUTPUT_TOOL, "schema": schema}
        if _is_strict(schema):
            named["strict"] = True
        body["response_format"] = {"type": "json_schema", "json_schema": named}
        return
    if mode == "tool":
        output = _tool(Tool(OUTPUT_TOOL, "Give the answer.", schema))
        body["tool_choice"] = "required"  # to name the tool is more, but llama.cpp ignores that
        body["tools"] = [*(body["tools"] or ()), output]
        return
    if mode == "json_object":
        body["response_format"] = {"type": "json_object"}
    words = IN_WORDS.format(schema=msgspec.json.encode(schema).decode())
    body["messages"] = [{"role": "system", "content": words}, *body["messages"]]


def _is_strict(schema: Any) -> bool:
    """Whether OpenAI would take it with `strict`: all is required, nothing may be added."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        members = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            return False
        if set(schema.get("required", ())) != set(members):
            return False
    elif not schema.keys() & {"type", "enum", "const", "anyOf", "$ref"}:
        return False
    if not _NOT_STRICT.isdisjoint(schema):
        return False
    inner = [schema[name] for name in ("items", "anyOf") if name in schema]
    named = [schema[name] for name in ("properties", "$defs") if name in schema]
    return _is_strict(inner) and all(_is_strict(list(each.values())) for each in named)


def _add(reading: Reading, thought: str, answer: str) -> None:
    if thought:
        reading.think(thought)
    if answer:
        reading.add(answer)


def _take(chunk: Mapping[str, Any], reading: Reading, tags: ThinkTags) -> None:
    reading.model = str(chunk.get("model") or "") or reading.model
    for choice in (chunk.get("choices") or ())[:1]:
        delta = choice.get("delta") or {}
        text = delta.get("content")
        thought = _thought(delta, reading)
        refusal, calls = delta.get("refusal"), delta.get("tool_calls")
        if text or thought or refusal or calls:
            reading.begun()
        if thought:
            reading.think(thought)
        if text:
            _add(reading, *tags.feed(text))
        for call in calls or ():
            _take_call(call, reading)
        for told in (choice.get("logprobs") or {}).get("content") or ():
            reading.logprobs.append(_probability(told))
            reading.count(1)
        reason = choice.get("finish_reason")
        if reason:
            reading.finish_reason = "tool_call" if reason == "tool_calls" else str(reason)
        if refusal:
            reading.add(refusal)
            reading.refused = True


def _thought(delta: Mapping[str, Any], reading: Reading) -> str | None:
    """What the model thinks, kept under the name that it came with."""
    for piece in delta.get(_DETAILS) or ():
        take_detail(piece, reading.state.setdefault(_DETAILS, []))
        reading.count(len(piece))
    for name in _THOUGHTS[1:]:
        if text := delta.get(name):
            reading.state[name] = reading.state.get(name, "") + text
            return str(text)
    return None


def _take_call(call: Mapping[str, Any], reading: Reading) -> None:
    """The id and the name come once, the arguments in pieces."""
    function = call.get("function") or {}
    made = reading.calls.setdefault(call.get("index") or 0, ["", "", ""])
    made[0] = call.get("id") or made[0]
    made[1] = function.get("name") or made[1]
    made[2] += function.get("arguments") or ""
    reading.count(1 + len(function.get("arguments") or ""))


def _probability(told: Mapping[str, Any]) -> TokenProbability:
    others = {other["token"]: other["logprob"] for other in told.get("top_logprobs") or ()}
    return probability(told["token"], told["logprob"], others)


def _tokens(usage: Any, *, known: bool) -> Tokens:
    if not isinstance(usage, dict):
        return Tokens()
    inside, outside = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    cached = inside.get("cached_tokens") if isinstance(inside, dict) else None
    thought = outside.get("reasoning_tokens") if isinstance(outside, dict) else None
    return counts(
        usage.get("prompt_tokens"),
        usage.get("completion_tokens") if known else None,
        cached or usage.get("prompt_cache_hit_tokens"),
        thought,
    )


def _kind(error: Any, status: int | None) -> type[ModelError]:
    named = f"{error.code} {error.type}"
    if error.code == FILTERED:
        return ModelRefused
    if status == 402 or _QUOTA.search(named):
        return ModelQuota
    return kind_of_status(status)


def _status_in_stream(error: Any) -> int | None:
    """What the same error has for a status outside of a stream."""
    code, kind = str(error.code), f"{error.code} {error.type}"
    if code.isdigit():
        return int(code)  # gateways send the status itself
    if "rate_limit" in kind or "too_many_requests" in kind:
        return 429
    return 503 if any(word in kind for word in ("server_error", "overloaded", "unavail")) else None
