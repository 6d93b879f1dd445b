"""Comparisons, which always have an answer, and arithmetic, which may be `Impossible`.

Comparisons are spec-kit's: texts that are both numbers are compared as numbers, values of kinds
that have no order are neither less nor more, and nothing is in what is no list, mapping or text.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from fanwise.workflow.expressions.impossible import Impossible, kind, within_size
from fanwise.workflow.expressions.lexer import MOST_NUMBER

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_WORDS = {"+": "added", "-": "subtracted", "*": "multiplied", "/": "divided", "%": "divided"}


def compare(left: Any, sign: str, right: Any) -> bool:
    """Whether it holds."""
    if sign == "==":
        return bool(left == right)
    if sign == "!=":
        return bool(left != right)
    if sign in _ORDER:
        return _in_order(left, sign, right)
    return _is_in(left, right) == (sign == "in")


def _in_order(left: Any, sign: str, right: Any) -> bool:
    numbers = as_number(left), as_number(right)
    if None not in numbers:
        left, right = numbers
    try:
        return bool(_ORDER[sign](left, right))
    except TypeError:
        return False


def _is_in(left: Any, right: Any) -> bool:
    if not isinstance(right, str | list | Mapping):
        return False
    try:
        return left in right
    except TypeError:  # a number in a text, a list among the keys of a mapping
        return False


def as_number(value: Any) -> int | float | None:
    """A number, or a text that is one (spaces around it aside); else None."""
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str):
        return None
    text = value.strip()
    digits = text.removeprefix("-").replace(".", "", 1)
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 300):
        return None
    return float(text) if "." in text else int(text)


def compute(left: Any, sign: str, right: Any) -> Any:
    """`left + right`, and the others. `Impossible`."""
    if _is_number(left) and _is_number(right):
        return _number(left, sign, right)
    if sign == "+" and type(left) is type(right) and isinstance(left, str | list):
        within_size(len(left) + len(right))
        return left + right
    step = (
        "; text that holds a number becomes one with `| from_json`"
        if _has_text(left, right)
        else ""
    )
    raise Impossible(f"{kind(left)} and {kind(right)} cannot be {_WORDS[sign]}{step}")


def negative(value: Any) -> Any:
    """`-value`. `Impossible`."""
    if not _is_number(value):
        raise Impossible(f"{kind(value)} has no negative")
    return -value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _has_text(*values: Any) -> bool:
    return any(isinstance(value, str) for value in values)


def _number(left: Any, sign: str, right: Any) -> int | float:
    try:
        made = _ARITHMETIC[sign](left, right)
    except ZeroDivisionError:
        raise Impossible(f"{left} cannot be divided by zero") from None
    except OverflowError:
        made = math.inf
    if not math.isfinite(made) or (isinstance(made, int) and abs(made) > MOST_NUMBER):
        raise Impossible("the result is too large a number")
    return made  # type: ignore[no-any-return]


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}
