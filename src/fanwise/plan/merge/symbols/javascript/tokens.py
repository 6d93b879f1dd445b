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
_REGEX = re.compile(r"/(?![*/>])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,500}\]){1,2000}/\w*")
_ENDS_A_VALUE = (")", "]", "}", "<")
"""After these, and after words, a slash divides (or ends a tag)."""
_NOT_VALUES = {"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "do",
               "else", "await", "yield"}  # fmt: skip

MOST = 200_000
"""Characters of a file that is looked at."""


class Token(NamedTuple):
    """A word, something in quotes (without them), or a sign."""

    kind: str
    text: str
    at: int
    """Where it ends."""


def tokens(text: str) -> list[Token]:
    """Take a file apart; of one that is too big for people to have written it, nothing."""
    return list(_tokens(text)) if len(text) <= MOST else []


def _tokens(text: str) -> Iterator[Token]:
    at, last = 0, Token("sign", ";", 0)
    while at < len(text):
        found = _TOKEN.match(text, at)
        assert found is not None
        kind = found.lastgroup or "sign"
        if kind == "sign" and found[0] == "/" and _begins_a_regex(last):
            regex = _REGEX.match(text, at)
            found, kind = (regex, "regex") if regex is not None else (found, kind)
        at = found.end()
        if kind != "skip":
            last = Token(kind, found[0][1:-1] if kind == "quoted" else found[0], at)
            yield last


def _begins_a_regex(last: Token) -> bool:
    if last.kind == "word":
        return last.text in _NOT_VALUES
    return last.kind == "sign" and last.text not in _ENDS_A_VALUE
