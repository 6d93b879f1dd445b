"""All other families, through pydantic-ai: Anthropic, Google, Vertex, Mistral, OpenAI's responses.

Their wires differ too much to keep up with here: pydantic-ai does that, and its errors are typed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
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
    Endpoint,
    ErrorFacts,
    Reading,
    answers_closed,
    counts,
    extra_of,
    kind_of_status,
    probability,
    retry_after,
    state_for,
    warn_not_sent,
    words_of,
)

PDF = "application/pdf"
_NOT_REASONING = frozenset({"temperature", "top_p", "openai_logprobs", "openai_top_logprobs"})
"""What OpenAI's models do not take while they reason."""
_GOOGLE = ("google", "vertex")
_LOGPROBS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(_GOOGLE, ("google_logprobs", "google_top_logprobs")),
    "openai-responses": ("openai_logprobs", "openai_top_logprobs"),
}
"""The settings that ask for them; other families here have none."""


class PydanticAI:
    """One endpoint in one event loop. `known`: the names of the settings that its model takes."""

    def __init__(
        self, endpoint: Endpoint, model: Any, known: set[str], close: Callable[[], Awaitable[Any]]
    ) -> None:
        self.model = model
        self._close = close
        self._scheme = endpoint.scheme
        self._issuer = endpoint.issuer
        self._known = known - model.unsupported_settings

    def first_mode(self) -> SchemaMode:
        native = self.model.profile.get("supports_json_schema_output", False)
        return "json_schema" if native else "json_object"

    async def read(self, request: Request, reading: Reading, mode: SchemaMode) -> None:
        from pydantic_ai import messages as theirs
        from pydantic_ai.direct import model_request_stream

        self._check_prefill(request.messages[-1])
        self._check_urls(request)
        async with (
            answers_closed(),
            model_request_stream(
                self.model,
                _messages(request, self._issuer),
                model_settings=self._settings(request),
                model_request_parameters=_parameters(request, mode),
                instrument=False,
            ) as stream,
        ):
            ended = False
            if self._scheme in _GOOGLE and request.options.logprobs is not None:
                told: Any = stream
                told._response = _noting_logprobs(told._response, reading)
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
        if reading.state:
            reading.state["issuer"] = self._issuer
        if request.schema is not None and mode == "tool":
            reading.take_output_call()

    def problem(self, error: Exception) -> ErrorFacts | None:
        from pydantic_ai import exceptions as theirs

        refused = getattr(error, "provider_error_code", None) == FILTERED
        unsupported = type(error) is RuntimeError and str(error).startswith("Unsupported ")
        if unsupported or isinstance(error, NotImplementedError | theirs.UserError):
            return ErrorFacts(ModelRejected, str(error), unbilled=True)  # before it was sent
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

    def _check_urls(self, request: Request) -> None:
        """pydantic-ai would fetch these here, with this machine's address and rights."""
        for file in (file for message in request.messages for file in message.files):
            pdf_or_image = file.media_type.startswith("image/") or file.media_type == PDF
            fetched = not pdf_or_image if self._scheme in ("anthropic", "mistral") else False
            if file.url is not None and (fetched or self._scheme == "google"):
                step = "Give its path or its bytes"
                raise UsageError(f"{self._scheme}: takes no {file.media_type} by its URL", step)

    def _settings(self, request: Request) -> Any:
        options = request.options
        given = {
            "temperature": options.temperature,
            "top_p": options.top_p,
            "max_tokens": options.max_tokens,
            "stop_sequences": list(options.stop) or None,
            "seed": request.seed if self._takes_seed(request) else None,
            "max_retries": 0,
            "cache": options.prompt_cache or None,
            "tool_choice": _choice(options.tool_choice),
        }
        settings = {name: value for name, value in given.items() if value is not None}
        settings |= self._reasoning(options) | self._logprobs(options)
        if options.prompt_cache and not self.model.profile.get("supports_cache"):
            warn_not_sent(f"{self._scheme}:{self.model.model_name}", "prompt_cache")
        for name in settings.keys() & self._refused():
            raise UsageError(f"{self.model.model_name} does not take {name}", "Leave it out")
        return settings | self._extra(options)

    def _refused(self) -> frozenset[str]:
        """What pydantic-ai would leave out."""
        profile = self.model.profile
        always = profile.get("openai_supports_reasoning_effort_none") is False
        reasons = profile.get("openai_supports_reasoning") and always
        unsupported = frozenset[str](self.model.unsupported_settings)
        return unsupported | (_NOT_REASONING if reasons else frozenset())

    def _takes_seed(self, request: Request) -> bool:
        """Samples have one in any case, so that they differ, also in the cache of replies."""
        takes = "seed" not in self.model.unsupported_settings
        if request.seed is not None and not takes:
            warn_not_sent(f"{self._scheme}:{self.model.model_name}", "seed")
        return takes

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
        extra, body = extra_of(options)
        for name, value in extra.items():
            (settings if name in self._known else body)[name] = value
        if not body:
            return settings
        if "extra_body" not in self._known:
            raise UsageError(
                f"{self._scheme} does not take {', '.join(map(repr, body))} in extra",
                "Use the names of pydantic-ai's settings for this provider",
            )
        return settings | {"extra_body": body}


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
    if reading.calls and (turn := _turn_of(response)):
        reading.state["turn"] = turn
    reading.text = "".join(texts) or str(details.get("refusal", ""))
    reading.reasoning = "".join(thoughts)
    called = bool(reading.calls) and response.finish_reason == "stop"
    reading.finish_reason = "tool_call" if called else response.finish_reason
    reading.model = response.model_name
    reading.logprobs += _probabilities(probabilities)
    usage = response.usage
    if usage.input_tokens or usage.output_tokens:
        output = usage.output_tokens if ended or response.finish_reason is not None else None
        thought = usage.details.get("reasoning_tokens") or usage.details.get("thoughts_tokens") or 0
        read, kept = usage.cache_read_tokens, usage.cache_write_tokens
        reading.tokens = counts(usage.input_tokens, output, read, thought, kept)


def _turn_of(response: Any) -> list[Any]:
    """As JSON, if its provider wants more of it back than texts and calls: signed thoughts, ids."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ThinkingPart

    def is_marked(part: Any) -> bool:
        marks = (getattr(part, name, None) for name in ("signature", "id", "provider_details"))
        return any(marks) or (
            isinstance(part, ThinkingPart) and response.provider_name == "mistral"
        )

    if not any(map(is_marked, response.parts)):
        return []
    # Thoughts without a signature would be sent as a text of the user.
    parts = [p for p in response.parts if is_marked(p) or not isinstance(p, ThinkingPart)]
    bare = {"__all__": {"usage", "timestamp", "finish_reason"}}
    return ModelMessagesTypeAdapter.dump_python(  # type: ignore[no-any-return]
        [replace(response, parts=parts)], mode="json", exclude_none=True, exclude=bare
    )


async def _noting_logprobs(chunks: Any, reading: Reading) -> AsyncIterator[Any]:
    """pydantic-ai does not read Google's from a stream."""
    async with aclosing(chunks):
        async for chunk in chunks:
            for candidate in chunk.candidates or ():
                if candidate.logprobs_result is not None:
                    reading.logprobs += _probabilities(candidate.logprobs_result.model_dump())
            yield chunk


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


def _messages(request: Request, issuer: str) -> list[Any]:
    """Turns of one side that follow each other are one message there."""
    from pydantic_ai import messages as theirs

    names = {call.id: call.name for message in request.messages for call in message.calls}
    found: list[Any] = []
    for message in request.messages:
        if turn := state_for(issuer, message).get("turn"):
            found += theirs.ModelMessagesTypeAdapter.validate_python(turn)
            continue
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
