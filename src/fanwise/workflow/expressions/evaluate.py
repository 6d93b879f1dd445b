"""The value of a tree: pure, and nothing but a value or `Impossible`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanwise.workflow.expressions import filters
from fanwise.workflow.expressions.impossible import Impossible
from fanwise.workflow.expressions.operators import compare, compute, negative
from fanwise.workflow.expressions.tree import (
    Comparison,
    Every,
    Expression,
    Filtered,
    ListOf,
    Literal,
    Negative,
    Not,
    Path,
    Reach,
    Some,
    Sum,
)


def evaluate(tree: Expression, roots: Mapping[str, Any]) -> Any:
    """What is not there is None. `Impossible` for what cannot be computed."""
    try:
        return _value(tree, roots)
    except RecursionError:  # values that are nested too deeply to be compared
        raise Impossible("the values have too many levels, one inside the other") from None


def _value(tree: Expression, roots: Mapping[str, Any]) -> Any:
    match tree:
        case Literal(value=value):
            return value
        case Path(root=root, parts=parts):
            return _reach(roots.get(root), parts)
        case Reach(inside=inside, parts=parts):
            return _reach(_value(inside, roots), parts)
        case ListOf(entries=entries):
            return [_value(entry, roots) for entry in entries]
        case Filtered():
            return _filtered(tree, roots)
        case Comparison(left=left, operator=sign, right=right):
            return compare(_value(left, roots), sign, _value(right, roots))
        case Every(parts=operands):
            return all(_value(part, roots) for part in operands)
        case Some(parts=operands):
            return any(_value(part, roots) for part in operands)
        case Not(of=inner):
            return not _value(inner, roots)
        case Negative(of=inner):
            return negative(_value(inner, roots))
        case Sum():
            return _sum(tree, roots)


def _reach(value: Any, parts: tuple[str | int, ...]) -> Any:
    for part in parts:
        if isinstance(part, str):
            value = value.get(part) if isinstance(value, Mapping) else None
        else:
            inside = isinstance(value, list) and part < len(value)
            value = value[part] if inside else None
    # What steps gave is seen through layers, which change: a value is plain, and stays as it is.
    return value if isinstance(value, dict) or not isinstance(value, Mapping) else dict(value)


def _filtered(tree: Filtered, roots: Mapping[str, Any]) -> Any:
    value = _value(tree.of, roots)
    for each in tree.filters:
        arguments = [_value(argument, roots) for argument in each.arguments]
        value = filters.apply(each.name, value, arguments)
    return value


def _sum(tree: Sum, roots: Mapping[str, Any]) -> Any:
    value = _value(tree.first, roots)
    for sign, part in tree.rest:
        value = compute(value, sign, _value(part, roots))
    return value
