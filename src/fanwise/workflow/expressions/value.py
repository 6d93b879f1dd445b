"""A value of a workflow file, of any kind, whose texts may hold `{{ }}`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from fanwise.workflow.expressions.names import Used
from fanwise.workflow.expressions.text import Text


class Value(msgspec.Struct, frozen=True):
    """`{args: "{{ inputs.spec }}", deep: [1, "{{ item }}"]}`, parsed."""

    source: Any
    """As the file has it."""
    _made: Any
    """The same, with each text parsed."""

    @staticmethod
    def parse(source: Any) -> Value:
        """`BadExpression`."""
        return Value(source, _parsed(source))

    @property
    def is_constant(self) -> bool:
        """Whether nothing in it stands in braces."""
        return all(text.is_constant for text in _texts(self._made))

    def uses(self) -> Iterator[Used]:
        """The paths in it, and whether they may be missing."""
        for text in _texts(self._made):
            yield from text.uses()

    def names(self) -> set[tuple[str, ...]]:
        """The paths that it uses."""
        return {each.path for each in self.uses()}

    def render(self, roots: Mapping[str, Any]) -> Any:
        """The same value, with each text rendered. `BadExpression`."""
        return _rendered(self._made, roots)


def _parsed(source: Any) -> Any:
    if isinstance(source, str):
        return Text.parse(source)
    if isinstance(source, list):
        return [_parsed(each) for each in source]
    if isinstance(source, dict):
        return {key: _parsed(each) for key, each in source.items()}
    return source


def _texts(made: Any) -> Iterator[Text]:
    if isinstance(made, Text):
        yield made
    elif isinstance(made, list | dict):
        for each in made.values() if isinstance(made, dict) else made:
            yield from _texts(each)


def _rendered(made: Any, roots: Mapping[str, Any]) -> Any:
    if isinstance(made, Text):
        return made.render(roots)
    if isinstance(made, list):
        return [_rendered(each, roots) for each in made]
    if isinstance(made, dict):
        return {key: _rendered(each, roots) for key, each in made.items()}
    return made
