"""Patterns of paths, as `.gitignore` has them. Pure.

`*` and `?` stay inside a name, `**` goes over folders. A pattern without a slash matches a name at
any depth, one with a slash from the top; a folder stands for all that is in it. `!` before a
pattern takes away what it matches; the last one that matches counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

_WORD = r"(?<![^/])\*\*/|/\*\*\Z|\*\*|\*|\?"
_STARS = re.compile(rf"{_WORD}|[^*?/]+|/")
_WITH_BRACKETS = re.compile(rf"{_WORD}|\[!?\]?[^\]]*\]|[^*?/\[]+|/")
_SIGNS = re.compile(r"[\\\[&|~]")
"""Those that mean something in brackets of an expression only."""


class Patterns:
    """Patterns that files are chosen by. None at all: every file."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._given = tuple(patterns)
        self._all = not any(not each.startswith("!") for each in self._given)
        self._rules = [(_compiled(each.removeprefix("!")), not each.startswith("!"), each)
                       for each in self._given]  # fmt: skip

    def match(self, path: str) -> bool:
        chosen = self._all
        for expression, adds, _ in self._rules:
            if chosen != adds and expression.match(path):
                chosen = adds
        return chosen

    def unmatched(self, paths: Iterable[str]) -> list[str]:
        """Those patterns that match no file: somebody mistyped them."""
        known = list(paths)
        return [
            given for expression, _, given in self._rules if not any(map(expression.match, known))
        ]


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    """An expression that matches the begin of a path, up to the end of a name.

    It never goes back over a star: what follows a star is taken where it is found first, for
    there more is left for the rest. Only what ends the pattern has to be at the end of a name.
    """
    pattern = pattern.removeprefix("./").rstrip("/") or "**"
    anywhere = "/" not in pattern
    *pieces, last = _pieces(["**/"] * anywhere + _words(pattern.lstrip("/")))
    body = "".join(f"(?>{each.gap}{_runs(each.runs)})" for each in pieces)
    body += f"{last.gap}{_runs(last.runs[:-1])}"
    body += f"[^/]*{last.runs[-1]}" if len(last.runs) > 1 else last.runs[0]
    return re.compile(rf"{body}(?=/|\Z)", re.DOTALL)


def _words(pattern: str) -> list[str]:
    """The stars, the letters in brackets, and what is between them."""
    brackets = pattern.rfind("]") + 1  # behind them none is closed
    return _WITH_BRACKETS.findall(pattern, 0, brackets) + _STARS.findall(pattern, brackets)


class _Piece(NamedTuple):
    """What stands between stars that go over folders."""

    gap: str
    """What such a star before it may skip, as little as can be."""
    runs: list[str]
    """Expressions of fixed length, with a `*` between each two."""


def _pieces(words: Iterable[str]) -> list[_Piece]:
    pieces = [_Piece("", [""])]
    for word in words:
        runs = pieces[-1].runs
        if word == "**/":
            pieces.append(_Piece("(?:.*?/)??", [""]))
        elif word in ("**", "/**"):
            runs[-1] += word.removesuffix("**")
            pieces.append(_Piece(".*?", [""]))
        elif word == "*":
            runs.append("")
        else:
            runs[-1] += _expression(word)
    return pieces


def _runs(runs: Sequence[str]) -> str:
    return "".join([*runs[:1], *(f"(?>[^/]*?{run})" for run in runs[1:])])


def _expression(word: str) -> str:
    if word == "?":
        return "[^/]"
    if len(word) > 2 and word.startswith("[") and word.endswith("]"):
        inside = _SIGNS.sub(r"\\\g<0>", word[1:-1])
        return _of(f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]")
    return re.escape(word)


def _of(letters: str) -> str:
    """One of these letters, no slash; nothing at all, if they are none: `[z-a]`. So does git."""
    try:
        re.compile(letters)
    except re.error:
        return "(?!)"
    return f"(?!/){letters}"
