"""What the tree of a plan shows of its nodes, in the report and while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from fanwise.plan.model.node import Tree
from fanwise.plan.model.states import ACTIVE, WRONG, State
from fanwise.plan.state.plan_state import LeafState
from fanwise.plan.views.text import plural
from fanwise.view.formats import duration_text

FEW = 30
"""A tree with so many leaves is shown unfolded, whatever their states are."""

Counts = Mapping[str, Counter[State]]


def count_leaves(tree: Tree, state: Callable[[str], State]) -> Counts:
    """For each node, how many of the leaves below it are in which state."""
    counts: dict[str, Counter[State]] = {}
    for leaf in tree.leaves:
        now = state(leaf.id)
        for node in (leaf, *tree.above(leaf)):
            counts.setdefault(node.id, Counter())[now] += 1
    return counts


def unfolded(tree: Tree, counts: Counts) -> set[str]:
    """The root, all nodes of a small tree, and those with leaves that need attention."""
    if len(tree.leaves) <= FEW:
        return set(counts)
    calls = {node for node, states in counts.items() if (WRONG | ACTIVE) & states.keys()}
    return calls | {tree.root.id}


def leaf_about(leaf: LeafState) -> str:
    about = [plural(len(leaf.node.files), "file")]
    if leaf.node.irreducible:
        about.append("irreducible")
    if leaf.ran_s:
        about.append(duration_text(leaf.ran_s))
    if leaf.tries:
        about.append(plural(len(leaf.tries), "failed try", "failed tries"))
    return ", ".join(about)
