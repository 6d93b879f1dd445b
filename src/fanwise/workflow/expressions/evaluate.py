"""The value of an expression: pure; `Impossible` for what cannot be computed.

Comparisons are spec-kit's and always have an answer: texts that are both numbers are compared as
numbers, values that have no order are neither less nor more, and nothing is in a value that is no
list, mapping or text.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from fanwise.workflow.expressions import filters
from fanwise.workflow.expressions import tree as nodes
from fanwise.workflow.expressions.tree import Expression
from fanwise.workflow.expressions.values import MOST_NUMBER, TEXT, Impossible, kind, within_size

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ARITHMETIC: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "+": (operator.add, "added"),
    "-": (operator.sub, "subtracted"),
    "*": (operator.mul, "multiplied"),
    "/": (operator.truediv, "divided"),
    "%": (operator.mod, "divided"),
}

SECRETS = ""
"""The root, which no expression can name, that tells whether a secret is in a value."""


def evaluate(tree: Expression, roots: Mapping[str, Any]) -> Any:
    """The value; None for what is not there. `Impossible`."""
    try:
        return _value(tree, roots)
    except RecursionError:  # values that are nested too deeply to be compared
        raise Impossible("the values have too many levels, one inside the other") from None


def _value(tree: Expression, roots: Mapping[str, Any]) -> Any:
    match tree:
        case nodes.Literal():
            return tree.value
        case nodes.Path():
            return _reach(roots.get(tree.root), tree.parts)
        case nodes.Reach():
            return _reach(_value(tree.inside, roots), tree.parts)
        case nodes.ListOf():
            return [_value(entry, roots) for entry in tree.entries]
        case nodes.Negated():
            value = _value(tree.of, roots)
            return not value if tree.sign == "not" else _negative(value)
        case nodes.Chain():
            return _chain(tree, roots)
        case nodes.Filtered():
            value = _value(tree.of, roots)
            for each in tree.filters:
                arguments = [_value(argument, roots) for argument in each.arguments]
                if filters.FILTERS[each.name].changes and roots.get(SECRETS, _none)(value):
                    raise Impossible(no_secret(each.name))
                value = filters.apply(each.name, value, arguments)
            return value


def _none(value: Any) -> bool:
    return False


def no_secret(name: str) -> str:
    """Why a filter does not take a secret."""
    return f"`{name}` would change a secret, and what comes of it would be recorded in clear"


def _reach(value: Any, parts: tuple[str | int, ...]) -> Any:
    for part in parts:
        if isinstance(part, str):
            value = value.get(part) if isinstance(value, Mapping) else None
        else:
            inside = isinstance(value, list) and part < len(value)
            value = value[part] if inside else None
    # Step outputs are seen through layers, which change: a value is plain, and stays as it is.
    return value if isinstance(value, dict) or not isinstance(value, Mapping) else dict(value)


def _chain(tree: nodes.Chain, roots: Mapping[str, Any]) -> Any:
    value = _value(tree.first, roots)
    for sign, part in tree.rest:
        if sign in ("and", "or"):
            if bool(value) is (sign == "or"):  # the rest does not matter
                return sign == "or"
            value = bool(_value(part, roots))
        elif sign in ARITHMETIC:
            value = _compute(value, sign, _value(part, roots))
        else:
            value = _compare(value, sign, _value(part, roots))
    return value


def _compare(left: Any, sign: str, right: Any) -> bool:
    if sign == "==":
        return bool(left == right)
    if sign == "!=":
        return bool(left != right)
    if sign in ("in", "not in"):
        return _is_in(left, right) == (sign == "in")
    numbers = _as_number(left), _as_number(right)
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


def _as_number(value: Any) -> int | float | None:
    """A number, or a text that is one, with or without spaces around it; else None."""
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str):
        return None
    text = value.strip()
    digits = text.removeprefix("-").replace(".", "", 1)
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 300):
        return None
    return float(text) if "." in text else int(text)


def _compute(left: Any, sign: str, right: Any) -> Any:
    compute = ARITHMETIC[sign][0]
    if _is_number(left) and _is_number(right):
        return _number(compute, left, right)
    if sign == "+" and type(left) is type(right) and isinstance(left, str | list):
        within_size(len(left) + len(right))
        return left + right
    raise not_computed(kind(left), sign, kind(right))


def not_computed(left: str, sign: str, right: str) -> Impossible:
    """Why values of these kinds cannot be added, and so on."""
    step = "; text that holds a number becomes one with `| from_json`"
    step = step if TEXT in (left, right) else ""
    return Impossible(f"{left} and {right} cannot be {ARITHMETIC[sign][1]}{step}")


def _number(compute: Callable[[Any, Any], Any], left: Any, right: Any) -> int | float:
    try:
        made: int | float = compute(left, right)
    except ZeroDivisionError:
        raise Impossible(f"{left} cannot be divided by zero") from None
    except OverflowError:
        made = math.inf
    if not math.isfinite(made) or (isinstance(made, int) and abs(made) > MOST_NUMBER):
        raise Impossible("the result is too large a number")
    return made


def _negative(value: Any) -> Any:
    if not _is_number(value):
        raise Impossible(f"{kind(value)} has no negative")
    return -value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
