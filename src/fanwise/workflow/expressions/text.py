"""Texts of a workflow file with any number of `{{ … }}` in them, and values made of such texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from fanwise.errors import BadExpression
from fanwise.processes.shell_line import MARK
from fanwise.workflow.expressions.evaluate import evaluate
from fanwise.workflow.expressions.lexer import QUOTES
from fanwise.workflow.expressions.parser import parse
from fanwise.workflow.expressions.tree import Expression, Filtered, Used, used
from fanwise.workflow.expressions.values import Impossible, shown, within_size

T = TypeVar("T")
OPEN, CLOSE = "{{", "}}"
MOST_ARGUMENT = 128 * 1024 - 1
"""Bytes of one argument of a program, by the rules of Linux; its end is one more."""


class Part(msgspec.Struct, frozen=True):
    """One `{{ … }}`."""

    source: str
    tree: Expression

    @property
    def is_raw(self) -> bool:
        """Whether its author says that it is a part of the command, not a value in it."""
        return isinstance(self.tree, Filtered) and self.tree.filters[-1].name == "raw"

    def value(self, roots: Mapping[str, Any]) -> Any:
        """The value. `BadExpression` if it cannot be computed."""
        try:
            return evaluate(self.tree, roots)
        except Impossible as error:
            raise BadExpression(self.source, str(error)) from None

    def text(self, roots: Mapping[str, Any]) -> str:
        """The value as text. `BadExpression`."""
        return self.shown(self.value(roots))

    def shown(self, value: Any) -> str:
        """A value as text. `BadExpression`."""
        try:
            return shown(value)
        except Impossible as error:
            raise BadExpression(self.source, str(error)) from None

    def argument(self, text: str) -> str:
        """A value of it as an argument of a program. `BadExpression` for what is too long."""
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > MOST_ARGUMENT:
            problem = f"the value has {size:,} bytes, and an argument has at most {MOST_ARGUMENT:,}"
            step = "Let the step that makes it write it to a file, and give the file's name"
            raise BadExpression(self.source, problem, None, step)
        return text


class _Parsed(msgspec.Struct, frozen=True):
    @property
    def expressions(self) -> tuple[Part, ...]:
        """The expressions in braces, in order."""
        raise NotImplementedError

    @property
    def lone(self) -> Part | None:
        """The expression that is all of it, spaces around aside: it has any type."""
        raise NotImplementedError

    def uses(self) -> Iterator[Used]:
        """The paths that it uses, and whether they may be missing."""
        return (use for part in self.expressions for use in used(part.tree))

    def names(self) -> set[tuple[str, ...]]:
        """The paths that it uses."""
        return {each.path for each in self.uses()}

    def is_known(self, roots: Mapping[str, Any]) -> bool:
        """Whether all that it uses is there."""
        return all(path[0] in roots for path in self.names())


class Text(_Parsed, frozen=True):
    """`Review {{ inputs.file }}`, parsed."""

    source: str
    parts: tuple[str | Part, ...]

    @staticmethod
    def parse(text: str) -> Text:
        """`BadExpression` for what does not parse; its position is in the whole text."""
        return Text(text, tuple(_split(text)))

    @property
    def expressions(self) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if isinstance(part, Part))

    @property
    def lone(self) -> Part | None:
        others = [part for part in self.parts if isinstance(part, str)]
        found = self.expressions
        return found[0] if len(found) == 1 and not "".join(others).strip() else None

    def render(self, roots: Mapping[str, Any]) -> Any:
        """The value of a lone expression, of any type; else text. `BadExpression`."""
        if self.lone is not None:
            return self.lone.value(roots)
        return self._joined(lambda part: part.text(roots))

    def text(self, roots: Mapping[str, Any]) -> str:
        """Render as text, also if it is a single expression. `BadExpression`."""
        value = self.render(roots)
        return value if isinstance(value, str) else self.expressions[0].shown(value)

    def quoted_render(self, roots: Mapping[str, Any], quote: Callable[[str], str]) -> str:
        """As text, with each value put through `quote` unless it ends in `| raw`."""
        return self._joined(
            lambda part: part.text(roots) if part.is_raw else quote(part.text(roots))
        )

    def marked(self, roots: Mapping[str, Any]) -> tuple[str, ...]:
        """A line of shell with a `MARK` for each value (see `place_values`), and the values.

        Quoting alone cannot make a value safe (see `processes/shell_line.py`), so texts travel as
        parameters. Numbers and booleans are written into the line: no quoting changes them, and
        arithmetic takes them. What ends in `| raw` is a part of the line.
        """
        values: list[str] = []

        def placed(part: Part) -> str:
            value = part.value(roots)
            text = part.shown(value)
            if part.is_raw or isinstance(value, bool | int | float):
                return text
            values.append(part.argument(text))
            return MARK

        line = self._joined(placed)
        if line.count(MARK) != len(values):
            raise BadExpression(self.source, "a NUL character cannot stand in a command")
        return line, *values

    def _joined(self, text_of: Callable[[Part], str]) -> str:
        texts = [part if isinstance(part, str) else text_of(part) for part in self.parts]
        try:
            within_size(sum(map(len, texts)))
        except Impossible as error:
            raise BadExpression(self.source[:60], str(error)) from None
        return "".join(texts)


class Value(_Parsed, frozen=True):
    """`{args: "{{ inputs.spec }}", deep: [1, "{{ item }}"]}`, parsed."""

    source: Any
    """As the file has it."""
    _made: Any
    """The source with each text parsed."""

    @staticmethod
    def parse(source: Any) -> Value:
        """`BadExpression`."""
        return Value(source, _mapped(source, str, Text.parse))

    @property
    def expressions(self) -> tuple[Part, ...]:
        texts: list[Text] = []
        _mapped(self._made, Text, texts.append)
        return tuple(part for text in texts for part in text.expressions)

    @property
    def lone(self) -> Part | None:
        return self._made.lone if isinstance(self._made, Text) else None

    def render(self, roots: Mapping[str, Any]) -> Any:
        """The value with each text rendered. `BadExpression`."""
        return _mapped(self._made, Text, lambda text: text.render(roots))


def _mapped(data: Any, kind: type[T], change: Callable[[T], Any]) -> Any:
    """The same data with each value of that type changed."""
    if isinstance(data, kind):
        return change(data)
    if isinstance(data, list):
        return [_mapped(each, kind, change) for each in data]
    if isinstance(data, dict):
        return {key: _mapped(each, kind, change) for key, each in data.items()}
    return data


def _split(text: str) -> Iterator[str | Part]:
    at = 0
    while (begin := text.find(OPEN, at)) >= 0:
        if begin > at:
            yield text[at:begin]
        inside = begin + len(OPEN)
        end = _closing(text, inside)
        yield _part(text, inside, end)
        at = end + len(CLOSE)
    if at < len(text):
        yield text[at:]


def _closing(text: str, at: int) -> int:
    """The position of the closing braces; braces in quotes are text."""
    begin, quote = at, ""
    while at < len(text):
        char = text[at]
        if quote:
            quote = "" if char == quote else quote
        elif char in QUOTES:
            quote = char
        elif text.startswith(CLOSE, at):
            return at
        at += 1
    problem = f"the quote {quote} is not closed" if quote else "{{ is not closed by }}"
    raise BadExpression(text, problem, begin - len(OPEN), "To write {{ as it is: {{ '{{' }}")


def _part(text: str, begin: int, end: int) -> Part:
    source = text[begin:end].strip()
    if not source:
        step = "To write {{ as it is: {{ '{{' }}"
        raise BadExpression(text, "nothing stands between {{ and }}", begin, step)
    try:
        return Part(source, parse(source))
    except BadExpression as error:
        indent = text[begin:end].index(source)
        raise error.inside(text, begin + indent) from None
