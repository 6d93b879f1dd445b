"""What an expression uses: for the order of steps, for validation, and to see what has changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

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


class Used(NamedTuple):
    """A path, as in `("steps", "plan", "output", "files", "0")`."""

    path: tuple[str, ...]
    guarded: bool
    """It may be missing: a `default` follows it."""


def used(tree: Expression, *, guarded: bool = False) -> Iterator[Used]:
    """All paths in it, in their order."""
    if isinstance(tree, Path):
        yield Used((tree.root, *map(str, tree.parts)), guarded)
        return
    inside = guarded and isinstance(tree, Reach)
    if isinstance(tree, Filtered):
        inside = tree.filters[0].name == "default"
    for position, child in enumerate(_children(tree)):
        yield from used(child, guarded=inside and position == 0)


def _children(tree: Expression) -> Iterator[Expression]:
    match tree:
        case Reach(inside=inner) | Not(of=inner) | Negative(of=inner):
            yield inner
        case ListOf(entries=parts) | Every(parts=parts) | Some(parts=parts):
            yield from parts
        case Comparison(left=left, right=right):
            yield from (left, right)
        case Sum(first=first, rest=rest):
            yield from (first, *(part for _, part in rest))
        case Filtered(of=inner, filters=filters):
            yield inner
            for each in filters:
                yield from each.arguments
        case Literal() | Path():
            return
