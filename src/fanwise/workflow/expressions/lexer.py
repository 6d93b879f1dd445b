"""An expression as tokens, each with its place."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

from fanwise.errors import BadExpression

SIGNS = ("==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "|", "(", ")", "[", "]", ",")
QUOTES = "'\""
MOST_CHARACTERS = 10_000
"""Of one expression."""
MOST_NUMBER = 2**63 - 1
"""Whole numbers that every JSON library takes."""


class Token(NamedTuple):
    """`kind` is "text", "number", "word" (its value may be a keyword), "sign" or "end"."""

    kind: Literal["text", "number", "word", "sign", "end"]
    value: Any
    at: int

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end"
        return f"the text {self.value!r}" if self.kind == "text" else f"`{self.value}`"


def tokens(text: str) -> list[Token]:
    """All of them, the end too. `BadExpression`."""
    if len(text) > MOST_CHARACTERS:
        problem = f"it has more than {MOST_CHARACTERS:,} characters"
        raise BadExpression(text, problem, 0, "Compute it in a step of its own")
    return _Lexer(text).all()


def is_word(char: str) -> bool:
    """Whether a name may hold it, after its first character."""
    return char.isalnum() or char in "_-:"


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: list[Token] = []

    def all(self) -> list[Token]:
        while self.at < len(self.text):
            if self.text[self.at].isspace():
                self.at += 1
            else:
                self._token()
        self.found.append(Token("end", "", len(self.text)))
        return self.found

    def _token(self) -> None:
        char = self.text[self.at]
        if char in QUOTES:
            self._quoted(char)
        elif char == ".":
            self._after_dot()
        elif char.isdecimal() and char.isascii():
            self._number()
        elif char.isalpha() or char == "_":
            self._add("word", self._run(), self.at)
        else:
            self._sign()

    def _quoted(self, quote: str) -> None:
        end = self.text.find(quote, self.at + 1)
        if end < 0:
            raise self._bad(f"the quote {quote} is not closed")
        self._add("text", self.text[self.at + 1 : end], self.at, end + 1)

    def _after_dot(self) -> None:
        """What follows a dot is a word, whatever it begins with: `results.0`, `steps.2nd`."""
        self._add("sign", ".", self.at, self.at + 1)
        word = self._run()
        if not word:
            raise self._bad("a name is expected after the dot")
        self._add("word", word, self.at)

    def _number(self) -> None:
        end = self._digits(self.at)
        whole = True
        if self.text[end : end + 1] == "." and self._digits(end + 1) > end + 1:
            end, whole = self._digits(end + 1), False
        written = self.text[self.at : end]
        if end < len(self.text) and is_word(self.text[end]) and self.text[end] != "-":
            raise self._bad(
                f"`{written}{self.text[end]}` is no number, and a name begins otherwise"
            )
        value = self._whole(written) if whole else float(written)
        if not math.isfinite(value):
            raise self._bad("the number is too large")
        self._add("number", value, self.at, end)

    def _whole(self, written: str) -> int:
        value = int(written) if len(written) <= 20 else MOST_NUMBER + 1
        if value > MOST_NUMBER:
            raise self._bad("the number is too large")
        return value

    def _digits(self, at: int) -> int:
        while at < len(self.text) and self.text[at] in "0123456789":
            at += 1
        return at

    def _sign(self) -> None:
        for sign in SIGNS:
            if self.text.startswith(sign, self.at):
                self._add("sign", sign, self.at, self.at + len(sign))
                return
        meant = {"=": "; equality is ==", "&": "; write `and`", "!": "; write `not`"}
        char = self.text[self.at]
        raise self._bad(f"{char!r} means nothing here{meant.get(char, '')}")

    def _run(self) -> str:
        end = self.at
        while end < len(self.text) and is_word(self.text[end]):
            end += 1
        return self.text[self.at : end]

    def _add(self, kind: Any, value: Any, at: int, end: int | None = None) -> None:
        self.found.append(Token(kind, value, at))
        self.at = at + len(value) if end is None else end

    def _bad(self, problem: str) -> BadExpression:
        return BadExpression(self.text, problem, self.at)
