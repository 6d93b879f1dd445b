"""Kinds of fields in a workflow file: what stands in braces is parsed when the file is read."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator

from fanwise.processes.shell_line import PLACEHOLDER
from fanwise.workflow.expressions import Text, Value
from fanwise.workflow.expressions.text import Part

ITEM = Text.parse("{{ item }}").expressions[0]
"""What `{}` stands for in the command of a map."""
FLAGS = {"yes": True, "on": True, "no": False, "off": False}
"""What spec-kit's parser, which speaks YAML 1.1, reads as true and false besides these words."""


def _text(given: Any) -> Text:
    if not isinstance(given, str):
        raise ValueError("must be text")  # noqa: TRY004 - pydantic wants a ValueError
    return Text.parse(given)


def _condition(given: Any) -> Value:
    """Text without braces would be true whatever it says: a mistake, and easily made."""
    if isinstance(given, str):
        words = given.strip()
        if "{{" not in words and words.lower() not in ("", "true", "false", *FLAGS):
            raise ValueError(
                f"has no braces, so it would always be true; write: '{{{{ {words} }}}}'"
            )
        given = FLAGS.get(words.lower(), given)
    elif not isinstance(given, bool):
        raise ValueError("must be true, false or text with {{ }}")  # noqa: TRY004
    return Value.parse(given)


def _items(given: Any) -> Value:
    value = Value.parse(given)
    if isinstance(given, list) or value.lone is not None:
        return value
    raise ValueError("must be a list or one {{ }} that gives a list")


def _lines(given: Any) -> Value:
    if isinstance(given, str):
        return Value.parse(given)
    raise ValueError("must be text, whose lines are the items")


def _argument(given: Any) -> Text:
    """`{}` outside of braces is the item, as in `fanwise map`."""
    if isinstance(given, bool | int | float):
        given = str(given)
    text = _text(given)
    parts: list[str | Part] = []
    for part in text.parts:
        if isinstance(part, Part):
            parts.append(part)
            continue
        first, *others = part.split(PLACEHOLDER)
        parts.append(first)
        for other in others:
            parts += [ITEM, other]
    return Text(text.source, tuple(part for part in parts if part))


def _width(given: Any) -> int | Text:
    if isinstance(given, str):
        text = Text.parse(given)
        if text.lone is not None:
            return text
        given = int(given) if given.strip().isdecimal() else given
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ValueError("must be a whole number of at least 1, or one {{ }}")
    return given


def _flag(given: Any) -> Any:
    return FLAGS.get(given.lower(), given) if isinstance(given, str) else given


def _mapping(given: Any) -> Any:
    return {} if given is None else given


def _needs(given: Any) -> Any:
    if isinstance(given, str):
        return {given: 1}
    return dict.fromkeys(given, 1) if isinstance(given, list) else given


def _id(given: str) -> str:
    if not given:
        raise ValueError("must not be empty")
    if ":" in given:
        raise ValueError("must have no `:`, which stands in the ids of items and iterations")
    return given


Id = Annotated[str, AfterValidator(_id)]
"""Of a step."""
TextField = Annotated[Text, PlainValidator(_text)]
"""Text, with or without `{{ }}`."""
ValueField = Annotated[Value, PlainValidator(Value.parse)]
"""Anything; texts in it may hold `{{ }}`."""
Condition = Annotated[Value, PlainValidator(_condition)]
"""True, false, or text with `{{ }}`: `truth(condition.render(roots))`."""
Items = Annotated[Value, PlainValidator(_items)]
"""A list, or an expression that returns one."""
Lines = Annotated[Value, PlainValidator(_lines)]
"""Text, each line of which is an item."""
Argument = Annotated[Text, PlainValidator(_argument)]
"""One argument of a command that is run for each item."""
Width = Annotated[int | Text, PlainValidator(_width)]
"""A cap: a number, or an expression that gives one."""
Flag = Annotated[bool, BeforeValidator(_flag)]
"""True or false."""
Fields = Annotated[dict[str, ValueField], BeforeValidator(_mapping)]
"""Names to anything: `input`, `options`, `output`."""
Needs = Annotated[dict[str, Annotated[int, Field(ge=1)]], BeforeValidator(_needs)]
"""`gpu`, `[gpu, openai]` or `{gpu: 2}`: named caps, and how much of each."""
