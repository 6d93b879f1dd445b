"""Tools for a model whose chat template has no place for them: a call is JSON, held to a schema.

llama.cpp leaves the tools of such a model out of its prompt without a word. So they are described
in a system message, and the reply is held by a grammar to a call of one of them, or to an answer
where the model may choose.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from fanwise.errors import UsageError
from fanwise.models.port import Message, Reply, Request, Schema, ToolCall

WORDS = """You can call these tools:
{tools}

Reply in JSON. To call a tool: {{"tool": its name, "arguments": its arguments}}."""
OR_ANSWER = ' To answer without a tool: {"answer": your answer}.'


def without_tools(request: Request) -> Request:
    """The request with its tools as a schema. `as_calls` reads the reply to it."""
    choice = request.options.tool_choice
    tools = [each for each in request.tools if choice in (None, "auto", "required", each.name)]
    options = replace(request.options, tool_choice=None)
    messages = tuple(map(_in_words, request.messages))
    if not tools:
        return replace(request, messages=messages, tools=(), options=options)
    words = WORDS.format(tools=msgspec.json.encode(tools).decode())
    shapes = [
        _object(tool={"const": each.name}, arguments=_whole(each.parameters)) for each in tools
    ]
    if choice in (None, "auto"):
        words += OR_ANSWER
        shapes.append(_object(answer=request.schema or {"type": "string"}))
    return replace(
        request,
        messages=(Message("system", words), *messages),
        tools=(),
        options=options,
        schema=_hoisted({"anyOf": shapes}),
    )


def as_calls(asked: Request, reply: Reply) -> Reply:
    """The reply to `without_tools(asked)` as a model with tools would give it."""
    value = reply.value
    if not isinstance(value, dict) or not {"tool", "answer"} & value.keys():
        return reply  # there was no tool to offer
    if "tool" in value:
        call = ToolCall(f"call-{len(asked.messages)}", value["tool"], value["arguments"])
        return replace(reply, text="", value=None, calls=(call,), finish_reason="tool_call")
    answer = value["answer"]
    if asked.schema is None:
        return replace(reply, text=answer, value=None)
    return replace(reply, text=msgspec.json.encode(answer).decode(), value=answer)


def _in_words(message: Message) -> Message:
    """Write calls and their answers as text: the template has no place for them either."""
    if message.role == "tool":
        return Message("user", f"The tool returned: {message.content}")
    if not message.calls:
        return message
    made = [{"tool": each.name, "arguments": each.arguments} for each in message.calls]
    return Message(message.role, msgspec.json.encode(made[0] if len(made) == 1 else made).decode())


def _object(**members: Any) -> Schema:
    return {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }


def _whole(parameters: Schema) -> Schema:
    return parameters or {"type": "object"}


def _hoisted(schema: Schema) -> Schema:
    """Move the definitions of its parts to the top, where references point."""
    definitions: Schema = {}

    def lift(part: Any) -> Any:
        if isinstance(part, list):
            return [lift(each) for each in part]
        if not isinstance(part, dict):
            return part
        for name, each in part.get("$defs", {}).items():
            if definitions.setdefault(name, each) != each:
                raise UsageError(f"two tools define {name} differently", "Rename one of the types")
        return {name: lift(each) for name, each in part.items() if name != "$defs"}

    plain: Schema = lift(schema)
    return {**plain, "$defs": lift(definitions)} if definitions else plain
