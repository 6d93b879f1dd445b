"""The text of a Python file, as Python counts its lines and as it is written back.

A candidate changes the lines that it is about and no others, so encoding, byte order mark and
line ends stay. And a line is what Python calls one: `str.splitlines` also ends lines at form feeds
and other characters that may stand inside of one.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize

import msgspec

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class SourceText(msgspec.Struct, frozen=True):
    """The text of a file, and its encoding."""

    text: str
    encoding: str = "utf-8"

    @classmethod
    def of(cls, content: bytes) -> SourceText:
        """Read as Python would; a `SyntaxError` or `UnicodeDecodeError` if it could not."""
        encoding = tokenize.detect_encoding(io.BytesIO(content).readline)[0]
        try:
            return cls(content.decode(encoding), encoding)
        except LookupError as error:  # a codec, but not one for text
            raise SyntaxError(str(error)) from error

    def lines(self) -> list[str]:
        return lines_of(self.text)

    def with_lines(self, lines: list[str]) -> SourceText:
        """Other lines; those that are not in the style of this file take its line ends."""
        end = self._end()
        return SourceText("".join(_ended(line, end) for line in lines), self.encoding)

    def content(self) -> bytes:
        return self.text.encode(self.encoding)

    def _end(self) -> str:
        first = next(iter(self.lines()), "\n")
        return "\r\n" if first.endswith("\r\n") else "\n"


def lines_of(text: str) -> list[str]:
    return _LINE.findall(text)


def first_line(node: ast.stmt) -> int:
    """The first line of a statement, counted from 0, with its decorators."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)]) - 1


def lines_after(node: ast.stmt) -> int:
    """The line after a statement, counted from 0."""
    return node.end_lineno or node.lineno


def _ended(line: str, end: str) -> str:
    return line.rstrip("\r\n") + end if end == "\r\n" and line.endswith("\n") else line
