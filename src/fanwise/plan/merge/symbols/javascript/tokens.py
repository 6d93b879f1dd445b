"""The words and signs of a JavaScript or TypeScript file, without comments. Pure.

It is no parser: it has to tell code from what is in quotes, in templates and in regular
expressions. What it takes apart wrongly (text between JSX tags, say) is taken for code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"(?P<skip>\s+|//[^\n]*|/\*.*?(?:\*/|\Z)|\#![^\n]*)"
    r"|(?P<word>[\w$\u0080-\U0010ffff]+)"
    r"|(?P<quoted>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<template>`(?:[^`\\]|\\.)*`)"
    r"|(?P<sign>\?\.|=>|===?|!==?|&&|\|\||\?\?|\.\.\.|.)",
    re.DOTALL,
)
_REGEX = re.compile(r"/(?![*/>])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,500}+\]){1,2000}+/\w*")
_RUNS = {
    '"': re.compile(r'(?:[^"\\\n]|\\.)*+', re.DOTALL),
    "'": re.compile(r"(?:[^'\\\n]|\\.)*+", re.DOTALL),
    "`": re.compile(r"(?:[^`\\]|\\.)*+", re.DOTALL),
    "/": re.compile(r"(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,500}+\]){0,2000}+"
                    r"(?:\[(?:[^\]\\\n]|\\.){0,500}+)?"),
}  # fmt: skip
"""How far what they open goes, if it has no end."""
_ENDS_A_VALUE = (")", "]", "}", "<")
"""After these, and after words, a slash divides (or ends a tag)."""
_NOT_VALUES = {"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "do",
               "else", "await", "yield"}  # fmt: skip

MOST = 200_000
"""Characters of a file that is looked at."""


class ScriptToken(NamedTuple):
    """A word, something in quotes (without them), or a sign."""

    kind: str
    text: str
    at: int
    """Where it ends."""


def tokens(text: str) -> list[ScriptToken]:
    """Take a file apart; of one that is too big for people to have written it, nothing."""
    return list(_tokens(text)) if len(text) <= MOST else []


def _tokens(text: str) -> Iterator[ScriptToken]:
    at, last, opens = 0, ScriptToken("sign", ";", 0), _Opens(text)
    while at < len(text):
        found = None if opens.never(at) else _TOKEN.match(text, at)
        kind = "sign" if found is None else found.lastgroup or "sign"
        end = at + 1 if found is None else found.end()
        if found is not None and kind == "sign" and found[0] in _RUNS:
            regex = _REGEX.match(text, at) if found[0] == "/" and _begins_a_regex(last) else None
            if regex is not None:
                kind, end = "regex", regex.end()
            elif found[0] != "/" or _begins_a_regex(last):
                opens.note(at)
        written, at = text[at:end], end
        if kind != "skip":
            last = ScriptToken(kind, written[1:-1] if kind == "quoted" else written, at)
            yield last


class _Opens:
    """Signs that open something without an end: up to there, no other of them has one either."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._until: dict[str, int] = {}
        self._last = 0

    def never(self, at: int) -> bool:
        """Whether it is known that the sign here opens nothing."""
        return at < self._last and at < self._until.get(self._text[at], 0) and (
            self._text[at] != "/" or self._text[at + 1 : at + 2] not in ("/", "*")
        )  # fmt: skip

    def note(self, at: int) -> None:
        """Note that the sign here opens nothing."""
        run = _RUNS[self._text[at]].match(self._text, at + 1)
        self._until[self._text[at]] = run.end() if run else 0
        self._last = max(self._until.values())


def _begins_a_regex(last: ScriptToken) -> bool:
    if last.kind == "word":
        return last.text in _NOT_VALUES
    return last.kind == "sign" and last.text not in _ENDS_A_VALUE
