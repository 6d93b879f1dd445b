"""Python functions as tools, and the calls that a model makes of them.

Each call is a `call` of the kernel: within the caps `tool` and `tool:NAME` where they are declared,
and recorded as `tool NAME`. What goes wrong in a tool is told to the model, which may do better.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from fanwise.errors import UsageError, one_line
from fanwise.kernel.call import call
from fanwise.kernel.scope import declared_caps
from fanwise.models.port import Message, Reply, Request, Tool, ToolCall

MOST_ANSWER = 1_000_000
"""Characters of a tool's answer: no model has room for more, and each round sends it again."""
MOST_ERROR = 2_000
Functions = Mapping[str, Callable[..., Any]]


def bound(given: Iterable[Tool | Callable[..., Any]]) -> tuple[tuple[Tool, ...], Functions]:
    """The tools, and the functions among them by name."""
    tools: list[Tool] = []
    functions: dict[str, Callable[..., Any]] = {}
    if isinstance(given, Tool) or not isinstance(given, Iterable):
        given = [given]
    for each in given:
        tool = each if isinstance(each, Tool) else tool_of(each)
        if any(tool.name == other.name for other in tools):
            raise UsageError(f"two tools are named {tool.name!r}", "Rename one of them")
        tools.append(tool)
        if not isinstance(each, Tool):
            functions[tool.name] = each
    return tuple(tools), functions


def check_choice(request: Request) -> None:
    choice, known = request.options.tool_choice, [tool.name for tool in request.tools]
    if choice in (None, "auto", "none") or (choice == "required" and known):
        return
    if choice not in known:
        step = f"Tools: {', '.join(known)}" if known else "Give `tools`"
        raise UsageError(f"tool_choice is {choice!r}", step)


def tool_of(function: Callable[..., Any]) -> Tool:
    """A function as a tool: its name, its docstring, and its arguments by their annotations."""
    if not callable(function):
        raise UsageError(f"a tool is {function!r}", "Give a function or a `Tool`")
    from pydantic import TypeAdapter

    name = getattr(function, "__name__", type(function).__name__)
    try:
        # Of a method, only `validate_call` finds the names in its annotations.
        taken: Any = function if isinstance(function, functools.partial) else _checked(function)
        schema = TypeAdapter(taken).json_schema()
    except Exception as error:
        step = "Annotate its arguments, or give a `Tool`"
        raise UsageError(f"the arguments of {name} have no schema: {error}", step) from error
    if schema.get("type") != "object":
        step = "Give it named arguments"
        raise UsageError(f"{name} has arguments that only have a position", step)
    return Tool(name, inspect.getdoc(function) or "", schema)


async def answers(reply: Reply, functions: Functions, timeout: float | None) -> list[Message]:
    return [
        Message("tool", await _answer(each, functions, timeout), call_id=each.id)
        for each in reply.calls
    ]


async def _answer(wanted: ToolCall, functions: Functions, timeout: float | None) -> str:
    function = functions.get(wanted.name)
    if function is None:
        return f"There is no tool {wanted.name}. There are: {', '.join(functions)}"
    declared = declared_caps()
    caps = [cap for cap in ("tool", f"tool:{wanted.name}") if cap in declared]
    work = functools.partial(_checked(function), **wanted.arguments)
    try:
        value = await call(work, needs=caps, timeout=timeout, name=f"tool {wanted.name}")
        text = value if isinstance(value, str) else _as_json(value)
        text.encode()
    except (Exception, SystemExit) as error:  # `sys.exit` is no way for a tool to end the program
        text = f"Error: {one_line(error)}"[:MOST_ERROR]
    if len(text) > MOST_ANSWER:
        return f"Error: {wanted.name} returned {len(text):,} characters: too many"
    return text


def _checked(function: Any) -> Callable[..., Any]:
    """Check the arguments by their annotations: a model may give others."""
    from pydantic import validate_call

    plain = inspect.isroutine(function) or isinstance(function, functools.partial | type)
    return validate_call(function if plain else function.__call__)  # type: ignore[no-any-return]


def _as_json(value: Any) -> str:
    """`TypeError` if it is neither JSON nor a model of pydantic."""

    def plain(part: Any) -> Any:
        if not hasattr(part, "model_dump"):
            raise TypeError(f"Encoding objects of type {type(part).__name__} is unsupported")
        return part.model_dump(mode="json")

    return msgspec.json.encode(value, enc_hook=plain).decode()
