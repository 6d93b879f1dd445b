"""The tree that an expression is parsed to, and the paths that it uses.

What repeats (`a + b + c`, `x | f | g`, `a and b and c`) is one node with many parts, not a chain of
nodes: so a tree is only as deep as its brackets, and evaluating it cannot overflow the stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import msgspec

from fanwise.workflow.expressions.filters import FILTERS


class Literal(msgspec.Struct, frozen=True, tag=True):
    """`'text'`, `1`, `1.5`, `true`, `none`."""

    value: str | int | float | bool | None


class ListOf(msgspec.Struct, frozen=True, tag=True):
    """`[1, 'two', inputs.three]`."""

    entries: tuple[Expression, ...]


class Path(msgspec.Struct, frozen=True, tag=True):
    """`steps.plan.output.files[0]`."""

    root: str
    parts: tuple[str | int, ...] = ()


class Reach(msgspec.Struct, frozen=True, tag=True):
    """`(…).name[0]`: into the value of another expression."""

    inside: Expression
    parts: tuple[str | int, ...]


class Negated(msgspec.Struct, frozen=True, tag=True):
    """`not a`, `-a`."""

    sign: str
    of: Expression


class Chain(msgspec.Struct, frozen=True, tag=True):
    """`a + b - c`, `a and b and c`, `a == b`: signs of one level, computed from the left."""

    first: Expression
    rest: tuple[tuple[str, Expression], ...]


class Filter(msgspec.Struct, frozen=True):
    """`join(', ')`."""

    name: str
    arguments: tuple[Expression, ...] = ()


class Filtered(msgspec.Struct, frozen=True, tag=True):
    """`x | map('name') | join(', ')`."""

    of: Expression
    filters: tuple[Filter, ...]


Expression: TypeAlias = Literal | ListOf | Path | Reach | Negated | Chain | Filtered


class Used(NamedTuple):
    """A path that an expression uses: `("steps", "plan", "output", "files", "0")`."""

    path: tuple[str, ...]
    guarded: bool
    """It may be missing, because a `default` follows it."""
    changed: str = ""
    """The filter that makes other text of it."""


def used(tree: Expression, *, guarded: bool = False, changed: str = "") -> Iterator[Used]:
    """All paths in an expression, in order."""
    if isinstance(tree, Path):
        yield Used((tree.root, *map(str, tree.parts)), guarded, changed)
        return
    inside = guarded and isinstance(tree, Reach)
    if isinstance(tree, Filtered):
        inside = tree.filters[0].name == "default"
        names = (each.name for each in tree.filters if FILTERS[each.name].changes)
        changed = next(names, changed)
    for position, child in enumerate(_children(tree)):
        yield from used(child, guarded=inside and position == 0, changed=changed)


def _children(tree: Expression) -> tuple[Expression, ...]:
    match tree:
        case Reach():
            return (tree.inside,)
        case ListOf():
            return tree.entries
        case Negated():
            return (tree.of,)
        case Chain():
            return (tree.first, *(part for _, part in tree.rest))
        case Filtered():
            return (tree.of, *(each for one in tree.filters for each in one.arguments))
        case Literal() | Path():
            return ()
