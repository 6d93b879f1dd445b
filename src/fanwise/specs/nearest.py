"""Suggesting the name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(given: str, known: Iterable[str], *, otherwise_all: bool = True) -> str:
    """`; did you mean `name`?`, or all known names if none is similar."""
    names = sorted(set(known))
    close = get_close_matches(given, names, n=1) or get_close_matches(given.lower(), names, n=1)
    if close:
        return f"; did you mean `{close[0]}`?"
    return f"; known: {', '.join(names)}" if names and otherwise_all else ""
