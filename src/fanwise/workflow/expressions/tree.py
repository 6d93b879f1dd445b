"""The tree that an expression is parsed to.

What repeats (`a + b + c`, `x | f | g`, `a and b and c`) is one node with many parts, not a chain of
nodes: so a tree is only as deep as its brackets, and evaluating it cannot overflow the stack.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec


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
    """`(…).name[0]`: into what another expression gives."""

    inside: Expression
    parts: tuple[str | int, ...]


class Not(msgspec.Struct, frozen=True, tag=True):
    """`not x`."""

    of: Expression


class Negative(msgspec.Struct, frozen=True, tag=True):
    """`-x`."""

    of: Expression


class Comparison(msgspec.Struct, frozen=True, tag=True):
    """`a == b`; `operator` is one of COMPARISONS."""

    left: Expression
    operator: str
    right: Expression


class Every(msgspec.Struct, frozen=True, tag=True):
    """`a and b and c`."""

    parts: tuple[Expression, ...]


class Some(msgspec.Struct, frozen=True, tag=True):
    """`a or b or c`."""

    parts: tuple[Expression, ...]


class Sum(msgspec.Struct, frozen=True, tag=True):
    """`a + b - c`, or `a * b / c`: from the left; `operator` is one of `+ - * / %`."""

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


Expression: TypeAlias = (
    Literal | ListOf | Path | Reach | Not | Negative | Comparison | Every | Some | Sum | Filtered
)
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in")
