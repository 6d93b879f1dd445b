"""What values are to an expression: their kinds, their truth, their text, and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

MOST_SIZE = 8_000_000
"""Characters of a text, or entries of a list, that an expression may make."""
MOST_NUMBER = 2**63 - 1
"""The largest whole number that every JSON library takes."""


class Impossible(Exception):
    """Why a value cannot be computed. `Part` makes a `BadExpression` of it."""


def within_size(size: int) -> None:
    """`Impossible` if a text or list of that size is too large."""
    if size > MOST_SIZE:
        raise Impossible(f"the result has more than {MOST_SIZE:,} characters or entries")


NOTHING, BOOLEAN, TEXT, NUMBER = "nothing", "true or false", "text", "a number"
LIST, MAPPING = "a list", "a mapping"
_KINDS: tuple[tuple[Any, str], ...] = (
    (bool, BOOLEAN), (str, TEXT), (int | float, NUMBER), (list, LIST), (Mapping, MAPPING),
)  # fmt: skip


def kind(value: Any) -> str:
    """What a value is, in words."""
    if value is None:
        return NOTHING
    return next((name for of, name in _KINDS if isinstance(value, of)), type(value).__name__)


def truth(value: Any) -> bool:
    """Whether a condition holds, as in spec-kit.

    The texts `true` and `false` mean what they say, in any case and with spaces around them, so the
    output of `echo false` is false. Other texts are true unless empty; `0` and `no` are true.
    """
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("true", "false"):
            return word == "true"
    return bool(value)


def shown(value: Any) -> str:
    """A value as it stands in a text. `Impossible`.

    As in spec-kit, nothing is an empty text, and booleans are `True` and `False`, which existing
    files compare with. Lists and mappings are JSON, so that other programs can read them.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return str(value)
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Impossible(f"a {type(value).__name__} cannot be written as text: {error}") from None
    within_size(len(text))
    return text


def read_json(
    text: str,
    *,
    parse_int: Callable[[str], Any] | None = None,
    parse_float: Callable[[str], Any] | None = None,
) -> Any:
    """The value of JSON that others wrote. `ValueError`, also for lone surrogates."""
    value = json.loads(
        text, parse_int=parse_int, parse_float=parse_float, parse_constant=_no_constant
    )
    if "\\u" in text or not text.isascii():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it contains a lone surrogate") from None
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")
