"""Which kind of value an expression gives, as far as that is known before it is computed.

So that `check` finds what no value could make right: a number for `join`, text in arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable

from fanwise.workflow.expressions import tree as nodes
from fanwise.workflow.expressions.evaluate import ARITHMETIC, not_computed
from fanwise.workflow.expressions.filters import FILTERS, refuse_kinds
from fanwise.workflow.expressions.tree import Expression
from fanwise.workflow.expressions.values import BOOLEAN, LIST, NUMBER, TEXT, Impossible, kind

Known = Callable[[tuple[str, ...]], str | None]
"""The kind of the value at a path; None: it may be any."""


def kind_of(tree: Expression, known: Known) -> str | None:
    """The kind of its value, in the words of `values.kind`. `Impossible` if it can have none."""
    match tree:
        case nodes.Literal():
            return kind(tree.value)
        case nodes.Path():
            return known((tree.root, *map(str, tree.parts)))
        case nodes.Reach():
            kind_of(tree.inside, known)
            return None
        case nodes.ListOf():
            for entry in tree.entries:
                kind_of(entry, known)
            return LIST
        case nodes.Negated():
            found = kind_of(tree.of, known)
            if tree.sign == "-" and found not in (None, NUMBER):
                raise Impossible(f"{found} has no negative")
            return BOOLEAN if tree.sign == "not" else NUMBER
        case nodes.Chain():
            return _of_chain(tree, known)
        case nodes.Filtered():
            found = kind_of(tree.of, known)
            for each in tree.filters:
                given = [kind_of(argument, known) for argument in each.arguments]
                refuse_kinds(each.name, found, given)
                keeps = each.name == "raw" or (each.name == "trim" and found == TEXT)
                found = found if keeps else FILTERS[each.name].gives
            return found


def _of_chain(tree: nodes.Chain, known: Known) -> str | None:
    found = kind_of(tree.first, known)
    for sign, part in tree.rest:
        if sign in ("and", "or"):  # what follows may not be computed
            return BOOLEAN
        other = kind_of(part, known)
        if sign not in ARITHMETIC:
            found = BOOLEAN
        elif found is not None and other is not None:
            if found != other or found not in ((NUMBER, TEXT, LIST) if sign == "+" else (NUMBER,)):
                raise not_computed(found, sign, other)
        else:
            found = None
    return found
