"""All other families, through pydantic-ai: Anthropic, Google, Vertex, Mistral, OpenAI's responses.

Their wires differ too much to keep up with here: pydantic-ai does that, and its errors are typed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from itertools import zip_longest
from typing import Any

from fanwise.errors import (
    ModelError,
    ModelOverloaded,
    ModelQuota,
    ModelRateLimited,
    ModelRefused,
    ModelRejected,
    ModelUnreachable,
    UsageError,
)
from fanwise.models.finish import FILTERED
from fanwise.models.names import SchemaMode
from fanwise.models.port import (
    TOOL_CHOICES,
    File,
    Message,
    Options,
    Request,
    TokenProbability,
    Tool,
)
from fanwise.models.wires.wire import (
    OUTPUT_TOOL,
    ErrorFacts,
    Reading,
    counts,
    kind_of_status,
    probability,
    retry_after,
    words_of,
)

_OURS = {"max_tokens", "temperature", "top_p", "stop_sequences", "seed", "max_retries"}
_NOT_REASONING = frozenset({"temperature", "top_p", "openai_logprobs", "openai_top_logprobs"})
"""What OpenAI's models do not take while they reason."""
_LOGPROBS: Mapping[str, tuple[str, str]] = {
    "google": ("google_logprobs", "google_top_logprobs"),
    "vertex": ("google_logprobs", "google_top_logprobs"),
    "openai-responses": ("openai_logprobs", "openai_top_logprobs"),
}
"""The settings that ask for them; other families here have none."""

_opened: ContextVar[list[Any] | None] = ContextVar("fanwise_answers", default=None)


class PydanticAI:
    """One endpoint in one event loop. `known`: the names of the settings that its model takes."""

    def __init__(
        self, scheme: str, model: Any, known: set[str], close: Callable[[], Awaitable[Any]]
    ) -> None:
        self.model = model
        self._close = close
        self._scheme = scheme
        self._known = known - model.unsupported_settings

    def first_mode(self) -> SchemaMode:
        native = self.model.profile.get("supports_json_schema_output", False)
        return "json_schema" if native else "json_object"

    async def read(self, request: Request, reading: Reading, mode: SchemaMode) -> None:
        from pydantic_ai import messages as theirs
        from pydantic_ai.direct import model_request_stream

        self._check_prefill(request.messages[-1])
        async with (
            answers_closed(),
            model_request_stream(
                self.model,
                _messages(request),
                model_settings=self._settings(request),
                model_request_parameters=_parameters(request, mode),
                instrument=False,
            ) as stream,
        ):
            ended = False
            try:
                async for event in stream:
                    reading.begun()
                    match event:
                        case theirs.PartStartEvent(part=theirs.TextPart(content=text)):
                            reading.add(text)
                        case theirs.PartStartEvent(part=theirs.ThinkingPart(content=text)):
                            reading.think(text)
                        case theirs.PartDeltaEvent(delta=theirs.TextPartDelta(content_delta=text)):
                            reading.add(text)
                        case theirs.PartDeltaEvent(
                            delta=theirs.ThinkingPartDelta(content_delta=str(text))
                        ):
                            reading.think(text)
                        case theirs.PartDeltaEvent(
                            delta=theirs.ToolCallPartDelta(args_delta=arguments)
                        ):
                            reading.count(1 + len(arguments or ""))
                ended = True
            finally:
                _take(stream.get(), reading, ended=ended)
        if request.schema is not None and mode == "tool":
            reading.take_output_call()

    def problem(self, error: Exception) -> ErrorFacts | None:
        from pydantic_ai import exceptions as theirs

        refused = getattr(error, "provider_error_code", None) == FILTERED
        if isinstance(error, theirs.ContentFilterError) or refused:
            kind: type[ModelError] = ModelRefused
        elif isinstance(error, theirs.ModelAPIError | theirs.UnexpectedModelBehavior):
            kind = _kind(error)
        else:
            return None
        status = getattr(error, "status_code", None)
        text = words_of(getattr(error, "body", None), str(getattr(error, "message", error)))
        after = retry_after(getattr(error, "headers", None))
        unsent = getattr(error, "phase", None) in ("pool", "connect")
        served = getattr(error, "in_stream", False) or (status is None and not unsent)
        told = getattr(error, "retry_after", None) if after is None else after
        return ErrorFacts(kind, text, status, told, unbilled=not served)

    async def close(self) -> None:
        await self._close()

    def _check_prefill(self, last: Message) -> None:
        """Mistral wants such a message marked as a prefix, which pydantic-ai cannot say."""
        if self._scheme == "mistral" and last.role == "assistant":
            step = "Leave out the assistant's message at the end"
            raise UsageError("mistral: continues no assistant's message here", step)

    def _settings(self, request: Request) -> Any:
        options = request.options
        given = {
            "temperature": options.temperature,
            "top_p": options.top_p,
            "max_tokens": options.max_tokens,
            "stop_sequences": list(options.stop) or None,
            "seed": request.seed,
            "max_retries": 0,
            "cache": options.prompt_cache or None,
            "tool_choice": _choice(options.tool_choice),
        }
        settings = {name: value for name, value in given.items() if value is not None}
        settings |= self._reasoning(options) | self._logprobs(options)
        for name in settings.keys() & self._refused():
            raise UsageError(f"{self.model.model_name} does not take {name}", "Leave it out")
        return settings | self._extra(options)

    def _refused(self) -> frozenset[str]:
        """What pydantic-ai would leave out. A seed goes only where there is one."""
        profile = self.model.profile
        always = profile.get("openai_supports_reasoning_effort_none") is False
        reasons = profile.get("openai_supports_reasoning") and always
        unsupported = frozenset[str](self.model.unsupported_settings)
        return (unsupported | (_NOT_REASONING if reasons else frozenset())) - {"seed"}

    def _reasoning(self, options: Options) -> dict[str, Any]:
        if options.reasoning is None:
            return {}
        profile = self.model.profile
        if not (profile.get("supports_thinking") or profile.get("thinking_always_enabled")):
            raise UsageError(f"{self.model.model_name} does not reason", "Leave out `reasoning`")
        return {"thinking": False if options.reasoning == "none" else options.reasoning}

    def _logprobs(self, options: Options) -> dict[str, Any]:
        if options.logprobs is None:
            return {}
        if self._scheme not in _LOGPROBS:
            raise UsageError(f"{self._scheme} gives no logprobs", "Leave out `logprobs`")
        asked, alternatives = _LOGPROBS[self._scheme]
        return {asked: True} | ({alternatives: options.logprobs} if options.logprobs else {})

    def _extra(self, options: Options) -> dict[str, Any]:
        """pydantic-ai's settings by their names; any other is a field of the request's body."""
        settings: dict[str, Any] = {}
        body: dict[str, Any] = {}
        for name, value in options.extra.items():
            if name in _OURS:
                raise UsageError(f"extra has {name!r}", "Give it in the options or the request")
            (settings if name in self._known else body)[name] = value
        if not body:
            return settings
        if "extra_body" not in self._known:
            raise UsageError(
                f"{self._scheme} does not take {', '.join(map(repr, body))} in extra",
                "Use the names of pydantic-ai's settings for this provider",
            )
        return settings | {"extra_body": {**body, **settings.pop("extra_body", {})}}


def _choice(given: str | None) -> str | list[str] | None:
    return given if given is None or given in TOOL_CHOICES else [given]


def _kind(error: Exception) -> type[ModelError]:
    from pydantic_ai import exceptions as theirs

    table: list[tuple[type[Exception], type[ModelError]]] = [
        (theirs.ModelQuotaExceededError, ModelQuota),
        (theirs.ModelRateLimitError, ModelRateLimited),
        (theirs.ModelUnavailableError, ModelOverloaded),
        (theirs.ModelServerError, ModelOverloaded),
        (theirs.ModelConnectionError, ModelUnreachable),
        (theirs.ModelRequestTimeout, ModelUnreachable),
        (theirs.ModelRequestRejectedError, ModelRejected),
    ]
    for their_kind, kind in table:
        if isinstance(error, their_kind):
            return kind
    return kind_of_status(getattr(error, "status_code", None))


def _take(response: Any, reading: Reading, *, ended: bool) -> None:
    from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart

    texts, thoughts, details = [], [], response.provider_details or {}
    probabilities = details.get("logprobs") or ()
    for place, part in enumerate(response.parts):
        if isinstance(part, TextPart):
            texts.append(part.content)
            probabilities = probabilities or (part.provider_details or {}).get("logprobs") or ()
        elif isinstance(part, ThinkingPart):
            thoughts.append(part.content)
        elif isinstance(part, ToolCallPart):
            reading.calls[place] = [part.tool_call_id, part.tool_name, part.args_as_json_str()]
    reading.text = "".join(texts) or str(details.get("refusal", ""))
    reading.reasoning = "".join(thoughts)
    reading.finish_reason = response.finish_reason
    reading.model = response.model_name
    reading.logprobs = [*_probabilities(probabilities)]
    usage = response.usage
    if usage.input_tokens or usage.output_tokens:
        output = usage.output_tokens if ended or response.finish_reason is not None else None
        thought = usage.details.get("reasoning_tokens") or usage.details.get("thoughts_tokens") or 0
        reading.tokens = counts(usage.input_tokens, output, usage.cache_read_tokens, thought)


def _probabilities(told: Any) -> list[TokenProbability]:
    """OpenAI's list, or Google's two of them side by side."""
    name, inside = "logprob", "top_logprobs"
    if isinstance(told, Mapping):
        name, inside = "log_probability", "candidates"
        chosen, others = told.get("chosen_candidates") or (), told.get("top_candidates") or ()
        nothing: dict[str, Any] = {}
        told = [{**one, **top} for one, top in zip_longest(chosen, others, fillvalue=nothing)]
    return [
        probability(
            one["token"], one[name], {each["token"]: each[name] for each in one.get(inside) or ()}
        )
        for one in told
    ]


def _messages(request: Request) -> list[Any]:
    """Turns of one side that follow each other are one message there."""
    from pydantic_ai import messages as theirs

    names = {call.id: call.name for message in request.messages for call in message.calls}
    found: list[Any] = []
    for message in request.messages:
        if message.role == "assistant":
            texts = [theirs.TextPart(message.content)] if message.content else []
            calls = [theirs.ToolCallPart(c.name, c.arguments, c.id) for c in message.calls]
            found.append(theirs.ModelResponse(parts=[*texts, *calls]))
            continue
        part = _part(message, names)
        if found and isinstance(found[-1], theirs.ModelRequest):
            found[-1] = theirs.ModelRequest(parts=[*found[-1].parts, part])
        else:
            found.append(theirs.ModelRequest(parts=[part]))
    return found


def _part(message: Message, names: Mapping[str, str]) -> Any:
    from pydantic_ai import messages as theirs

    if message.role == "system":
        return theirs.SystemPromptPart(message.content)
    if message.role == "tool":
        called = message.call_id or ""
        return theirs.ToolReturnPart(names.get(called, called), message.content, called)
    if message.files:
        return theirs.UserPromptPart([message.content, *map(_file, message.files)])
    return theirs.UserPromptPart(message.content)


def _file(file: File) -> Any:
    from pydantic_ai import messages as theirs

    if file.data is not None:
        return theirs.BinaryContent(file.data, media_type=file.media_type)
    image = file.media_type.startswith("image/")
    url: Any = theirs.ImageUrl if image else theirs.DocumentUrl
    return url(file.url or "", media_type=file.media_type)


def _parameters(request: Request, mode: SchemaMode) -> Any:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    tools = [_definition(t) for t in request.tools]
    if request.schema is None:
        return ModelRequestParameters(function_tools=tools)
    if mode == "tool":
        output = _definition(Tool(OUTPUT_TOOL, "Give the answer.", request.schema), kind="output")
        return ModelRequestParameters(
            function_tools=tools, output_mode="tool", output_tools=[output], allow_text_output=False
        )
    return ModelRequestParameters(
        function_tools=tools,
        output_mode="native" if mode == "json_schema" else "prompted",
        output_object=OutputObjectDefinition(json_schema=request.schema, name=OUTPUT_TOOL),
    )


def _definition(tool: Tool, kind: Any = "function") -> Any:
    from pydantic_ai.tools import ToolDefinition

    return ToolDefinition(
        name=tool.name,
        parameters_json_schema=tool.parameters,
        description=tool.description,
        kind=kind,
    )


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
