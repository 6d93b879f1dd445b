"""What an expression cannot compute, with the values that it got."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST_SIZE = 8_000_000
"""Characters of a text, or entries of a list, that an expression may make."""


class Impossible(Exception):
    """Why; whoever knows the expression makes a `BadExpression` of it."""


def within_size(size: int) -> None:
    """`Impossible` if a text or list of that size is too large."""
    if size > MOST_SIZE:
        raise Impossible(f"the result has more than {MOST_SIZE:,} characters or entries")


def kind(value: Any) -> str:
    """What a value is, in words."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    names: list[tuple[Any, str]] = [
        (str, "text"),
        (int | float, "a number"),
        (list, "a list"),
        (Mapping, "a mapping"),
    ]
    return next((name for of, name in names if isinstance(value, of)), type(value).__name__)
