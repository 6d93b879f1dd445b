"""Builds values and their positions from the events of a parser.

Not from PyYAML's nodes, because its composer recurses (a file full of brackets crashes the process)
and its constructor expands aliases. Nothing recurses here, and the size of aliases is limited
before they are expanded.
"""

from __future__ import annotations

from typing import Any

from fanwise.specs.document import Branch, FieldPath, Place
from fanwise.specs.scalars import Scalar

MOST_DEPTH = 100
MOST_UNFOLDED = 1 << 20
"""How many characters all aliases together may stand for: as many as a file may have."""


class Wrong(Exception):
    """A problem at an offset of the text."""

    def __init__(
        self, at: int, message: str, path: FieldPath = (), first: int | None = None
    ) -> None:
        self.at = at
        self.message = message
        self.path = path
        self.first = first
        """The offset of what it clashes with."""
        super().__init__(message)


class ParsedValue:
    """A complete value, and its size when written out."""

    __slots__ = ("place", "size", "value")

    def __init__(self, value: Any, place: Place, size: int) -> None:
        self.value = value
        self.place = place
        self.size = size


class _OpenNode:
    """A mapping or list that is being built."""

    __slots__ = ("anchor", "key", "place", "size", "value")

    def __init__(self, value: dict[str, Any] | list[Any], at: int, anchor: str | None) -> None:
        self.value: Any = value
        self.place = Branch(at, {} if isinstance(value, dict) else [])
        self.anchor = anchor
        self.key: str | None = None
        self.size = 1


class Builder:
    """Takes the events of a parser in order; `made` is the result."""

    def __init__(self) -> None:
        self.parsed: ParsedValue | None = None
        self._open: list[_OpenNode] = []
        self._anchors: dict[str, ParsedValue] = {}
        self._unfolded = 0

    @property
    def path(self) -> FieldPath:
        """The path of the value that comes next."""
        parts: list[str | int] = []
        for each in self._open:
            if isinstance(each.value, list):
                parts.append(len(each.value))
            elif each.key is not None:
                parts.append(each.key)
        return tuple(parts)

    def begin(self, value: dict[str, Any] | list[Any], at: int, anchor: str | None = None) -> None:
        """Begin a mapping or list."""
        if self._wants_key:
            raise self._wrong(at, "a key must be a word, not a mapping or a list")
        if len(self._open) == MOST_DEPTH:
            raise Wrong(at, f"more than {MOST_DEPTH} levels, one inside the other")
        self._open.append(_OpenNode(value, at, anchor))

    def end(self) -> None:
        """End the mapping or list that began last."""
        over = self._open.pop()
        self._put(ParsedValue(over.value, over.place, over.size), over.anchor)

    def scalar(self, text: str, value: Scalar, at: int, anchor: str | None = None) -> None:
        """Add a scalar. As a key it is its text, whatever it would mean as a value."""
        if self._wants_key:
            self._add_key(text, at)
            if anchor is not None:
                self._anchors[anchor] = ParsedValue(text, at, 1 + len(text))
        else:
            self._put(ParsedValue(value, at, 1 + len(text)), anchor)

    def alias(self, name: str, at: int) -> None:
        """Add the value of an anchor."""
        if any(each.anchor == name for each in self._open):
            raise self._wrong(at, f"*{name} stands inside &{name}, so it would hold itself")
        if name not in self._anchors:
            raise self._wrong(at, f"there is no anchor &{name} above")
        parsed = self._anchors[name]
        self._unfolded += parsed.size
        if self._unfolded > MOST_UNFOLDED:
            raise self._wrong(at, f"the aliases unfold to more than {MOST_UNFOLDED >> 20} MB")
        if not self._wants_key:
            self._put(ParsedValue(parsed.value, parsed.place, parsed.size), None)
        elif isinstance(parsed.value, str):
            self._add_key(parsed.value, at)
        else:
            raise self._wrong(at, "a key must be a word")

    @property
    def _wants_key(self) -> bool:
        top = self._open[-1] if self._open else None
        return top is not None and top.key is None and isinstance(top.value, dict)

    def _add_key(self, text: str, at: int) -> None:
        top = self._open[-1]
        if text == "<<":
            raise self._wrong(at, "merging with << is not known here; write the keys out")
        if text in top.value:
            path = (*self.path, text)
            raise Wrong(at, "this key is there twice", path, first=top.place.keys[text])
        top.key = text
        top.place.keys[text] = at

    def _put(self, parsed: ParsedValue, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = parsed
        if not self._open:
            self.parsed = parsed
            return
        top = self._open[-1]
        top.size += parsed.size
        if isinstance(top.value, list):
            top.value.append(parsed.value)
            top.place.inside.append(parsed.place)
        else:
            top.value[top.key] = parsed.value
            top.place.inside[top.key] = parsed.place
            top.key = None

    def _wrong(self, at: int, message: str) -> Wrong:
        return Wrong(at, message, self.path)
