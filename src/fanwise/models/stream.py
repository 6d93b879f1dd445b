"""A request in pydantic-ai's words, sent and read as a stream.

Always a stream, also where only the end is wanted: several servers go on generating, and
charging, after the client of a non-streamed request has gone. Leaving the stream closes the
connection, so a cancelled call frees the server at its next token.
"""

from __future__ import annotations

import asyncio
from typing import Any

from fanwise.kernel import meter
from fanwise.models.port import Message, Request, Tokens


class Reading:
    """What has come so far; it stays here when the stream breaks."""

    def __init__(self) -> None:
        self.text = ""
        self.tokens = Tokens()
        """Of a stream that broke, the output is unknown: what was told is what it was so far."""
        self.first_token_s: float | None = None
        self.finish_reason: str | None = None
        self.model: str | None = None

    async def read(self, model: Any, request: Request) -> None:
        """Send the request, and read to the end."""
        from pydantic_ai.direct import model_request_stream

        clock = asyncio.get_running_loop().time
        began = clock()
        messages, settings = _messages(request), _settings(request)
        parameters = _parameters(model, request)
        async with model_request_stream(
            model,
            messages,
            model_settings=settings,
            model_request_parameters=parameters,
            instrument=False,
        ) as stream:
            to_the_end = False
            try:
                async for _ in stream:
                    if self.first_token_s is None:
                        self.first_token_s = clock() - began
                        meter.first_token(self.first_token_s)
                to_the_end = True
            finally:
                self._take(stream.get(), to_the_end=to_the_end)

    def _take(self, response: Any, *, to_the_end: bool) -> None:
        self.text = _text(response)
        self.finish_reason = response.finish_reason
        self.model = response.model_name
        usage = response.usage
        if usage.input_tokens or usage.output_tokens:
            final = to_the_end or response.finish_reason is not None
            output = usage.output_tokens if final else None
            self.tokens = Tokens(usage.input_tokens, output, usage.cache_read_tokens)


def _text(response: Any) -> str:
    from pydantic_ai.messages import TextPart

    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    details = response.provider_details or {}
    return text or str(details.get("refusal", ""))


def _messages(request: Request) -> list[Any]:
    """Turns of one side that follow each other are one message there."""
    from pydantic_ai import messages as theirs

    found: list[Any] = []
    for message in request.messages:
        if message.role == "assistant":
            found.append(theirs.ModelResponse(parts=[theirs.TextPart(message.content)]))
            continue
        part = _part(message)
        if found and isinstance(found[-1], theirs.ModelRequest):
            found[-1] = theirs.ModelRequest(parts=[*found[-1].parts, part])
        else:
            found.append(theirs.ModelRequest(parts=[part]))
    return found


def _part(message: Message) -> Any:
    from pydantic_ai import messages as theirs

    if message.role == "system":
        return theirs.SystemPromptPart(message.content)
    return theirs.UserPromptPart(message.content)


def _settings(request: Request) -> Any:
    options = request.options
    settings: dict[str, Any] = {**options.extra, "max_retries": 0}
    named = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_tokens": options.max_tokens,
        "stop_sequences": list(options.stop) or None,
        "seed": request.seed,
    }
    settings.update((name, value) for name, value in named.items() if value is not None)
    return settings


def _parameters(model: Any, request: Request) -> Any:
    """With a schema: by the provider's own means where it has them, else asked for in words."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    if request.schema is None:
        return ModelRequestParameters()
    native = bool(model.profile.get("supports_json_schema_output", False))
    return ModelRequestParameters(
        output_mode="native" if native else "prompted",
        output_object=OutputObjectDefinition(json_schema=request.schema, name="reply"),
    )
