"""An expression as tokens, each with its position."""

from __future__ import annotations

import math
import re
from typing import Any, Literal, NamedTuple

from fanwise.errors import BadExpression
from fanwise.workflow.expressions.values import MOST_NUMBER

QUOTES = "'\""
MOST_CHARACTERS = 10_000
"""The limit for one expression."""
_SPACE = re.compile(r"\s*")
_TOKEN = re.compile(
    r"""
      (?P<text> '[^']*' | "[^"]*" )
    | \.(?P<member> [\w:-]+ )           # after a dot a word may begin with anything: results.0
    | (?P<number> [0-9]+ (\.[0-9]+)? ) (?P<rest> [\w:]? )
    | (?P<word> [^\W\d][\w:-]* )
    | (?P<sign> == | != | <= | >= | [-<>+*/%|()\[\],] )
    """,
    re.VERBOSE,
)
_MEANT = {"=": "; equality is ==", "&": "; write `and`", "!": "; write `not`"}


class Token(NamedTuple):
    """`value` is a text, a number, a name or keyword, or a sign."""

    kind: Literal["text", "number", "word", "sign", "end"]
    value: Any
    at: int

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end"
        return f"the text {self.value!r}" if self.kind == "text" else f"`{self.value}`"


def tokens(text: str) -> list[Token]:
    """All tokens, with one for the end. `BadExpression`."""
    if len(text) > MOST_CHARACTERS:
        problem = f"it has more than {MOST_CHARACTERS:,} characters"
        raise BadExpression(text, problem, 0, "Compute it in a step of its own")
    found: list[Token] = []
    at = _SPACE.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _unknown(text, at)
        found += _tokens(match, text, at)
        at = _SPACE.match(text, match.end()).end()  # type: ignore[union-attr]
    return [*found, Token("end", "", len(text))]


def _tokens(match: re.Match[str], text: str, at: int) -> list[Token]:
    if match["text"] is not None:
        return [Token("text", match["text"][1:-1], at)]
    if match["member"] is not None:
        return [Token("sign", ".", at), Token("word", match["member"], at + 1)]
    if match["number"] is not None:
        if match["rest"]:
            problem = f"`{match[0]}` is neither a number nor a name"
            raise BadExpression(text, problem, at)
        return [Token("number", _number(match["number"], text, at), at)]
    if match["word"] is not None and not (text[at].isalpha() or text[at] == "_"):
        raise _unknown(text, at)
    return [Token("sign" if match["word"] is None else "word", match[0], at)]


def _number(written: str, text: str, at: int) -> int | float:
    value = float(written)
    whole = "." not in written
    if math.isinf(value) or (whole and (len(written) > 20 or int(written) > MOST_NUMBER)):
        raise BadExpression(text, "the number is too large", at)
    return int(written) if whole else value


def _unknown(text: str, at: int) -> BadExpression:
    char = text[at]
    if char in QUOTES:
        return BadExpression(text, f"the quote {char} is not closed", at)
    if char == ".":
        return BadExpression(text, "a name is expected after the dot", at + 1)
    return BadExpression(text, f"{char!r} means nothing here{_MEANT.get(char, '')}", at)
