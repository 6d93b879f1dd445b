"""Patterns of paths, as `.gitignore` has them. Pure.

`*` and `?` stay inside a name, `**` goes over folders. A pattern without a slash matches a name at
any depth, one with a slash from the top; a folder stands for all that is in it. `!` before a
pattern takes away what it matches; the last one that matches counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache


class Patterns:
    """Patterns that files are chosen by. None at all: every file."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._given = tuple(patterns)
        self._all = not any(not each.startswith("!") for each in self._given)
        self._rules = [(_compiled(each.removeprefix("!")), not each.startswith("!"), each)
                       for each in self._given]  # fmt: skip

    def match(self, path: str) -> bool:
        """Whether a file is chosen."""
        chosen = self._all
        for expression, adds, _ in self._rules:
            if chosen != adds and expression.fullmatch(path):
                chosen = adds
        return chosen

    def unmatched(self, paths: Iterable[str]) -> list[str]:
        """Those patterns that match no file: somebody mistyped them."""
        known = list(paths)
        return [
            given
            for expression, _, given in self._rules
            if not any(map(expression.fullmatch, known))
        ]


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    pattern = pattern.removeprefix("./").rstrip("/") or "**"
    anywhere = "/" not in pattern
    pattern = pattern.lstrip("/")
    words = re.split(r"(\*\*/|/\*\*$|\*\*|\*|\?|\[!?\]?[^\]]*\])", pattern)
    body = "".join(map(_expression, words))
    start = "(?:.*/)?" if anywhere else ""
    return re.compile(f"{start}{body}(?:/.*)?", re.DOTALL)


def _expression(word: str) -> str:
    if word == "**/":
        return "(?:.*/)?"
    if word == "/**":
        return "/.*"
    if word == "**":
        return ".*"
    if word == "*":
        return "[^/]*"
    if word == "?":
        return "[^/]"
    if len(word) > 2 and word.startswith("[") and word.endswith("]"):
        inside = word[1:-1].replace("\\", r"\\").replace("[", r"\[")
        return _of(f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]")
    return re.escape(word)


def _of(letters: str) -> str:
    """One of these letters; nothing at all, if they are none: `[z-a]`. So does git."""
    try:
        re.compile(letters)
    except re.error:
        return "(?!)"
    return letters
