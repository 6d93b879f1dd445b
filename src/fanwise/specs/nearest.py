"""Which of the known names somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(given: str, known: Iterable[str], *, otherwise_all: bool = True) -> str:
    """`; did you mean `name`?`, or, if nothing is near, the names that there are."""
    names = sorted(set(known))
    close = get_close_matches(given, names, n=1) or get_close_matches(given.lower(), names, n=1)
    if close:
        return f"; did you mean `{close[0]}`?"
    return f"; known: {', '.join(names)}" if names and otherwise_all else ""
