"""The tree with states. What went well is folded, so that hundreds of leaves can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Union

from fanwise.plan.model.node import Node, Tree
from fanwise.plan.model.states import ACTIVE, WRONG, State
from fanwise.plan.state.plan_state import LeafState, PlanState
from fanwise.plan.views.text import plural
from fanwise.view.formats import duration_text

FEW = 30
"""So many leaves are shown unfolded, whatever their states are."""

Counts = Mapping[str, Counter[State]]


class LeafRow(NamedTuple):
    """A leaf, and what is known about it in a few words."""

    leaf: LeafState
    about: str


class TreeBranch(NamedTuple):
    """A node with others below it."""

    title: str
    counts: Mapping[State, int]
    below: Sequence[Union[TreeBranch, LeafRow]]  # noqa: UP007 - it names itself
    open: bool = False
    others: bool = False
    """The leaves of a group that went well."""

    @property
    def leaves(self) -> int:
        """How many there are below it."""
        return sum(self.counts.values())


def tree_rows(state: PlanState) -> TreeBranch | LeafRow:
    """From the root down."""
    counts = count_leaves(state.tree, lambda leaf: state.by_id[leaf].state)
    return _row(state.tree.root, state, counts)


def count_leaves(tree: Tree, state: Callable[[str], State]) -> Counts:
    """For each node, how many of the leaves below it are in which state."""
    counts: dict[str, Counter[State]] = {}
    for leaf in tree.leaves:
        now = state(leaf.id)
        for node in (leaf, *tree.above(leaf)):
            counts.setdefault(node.id, Counter())[now] += 1
    return counts


def _row(node: Node, state: PlanState, counts: Counts) -> TreeBranch | LeafRow:
    if not node.children:
        return LeafRow(state.by_id[node.id], leaf_about(state.by_id[node.id]))
    few = counts[state.tree.root.id].total() <= FEW
    below = [state.tree.by_id[child] for child in node.children]
    rows: list[TreeBranch | LeafRow] = []
    calm: list[TreeBranch | LeafRow] = []
    together: Counter[State] = Counter()
    for each in below:
        if few or each.children or _calls(counts, each):
            rows.append(_row(each, state, counts))
        else:
            calm.append(_row(each, state, counts))
            together += counts[each.id]
    if rows and calm:
        rows.append(TreeBranch(f"{len(calm):,} others", together, calm, others=True))
    open_ = node.parent is None or few or _calls(counts, node)
    return TreeBranch(node.title or "all", counts[node.id], rows or calm, open=open_)


def _calls(counts: Counts, node: Node) -> bool:
    """Whether it needs attention."""
    return any(state in WRONG or state in ACTIVE for state in counts[node.id])


def leaf_about(leaf: LeafState) -> str:
    """Its size, duration and failed tries."""
    about = [plural(len(leaf.node.files), "file")]
    if leaf.node.irreducible:
        about.append("irreducible")
    if leaf.ran_s:
        about.append(duration_text(leaf.ran_s))
    if leaf.tries:
        about.append(plural(len(leaf.tries), "failed try", "failed tries"))
    return ", ".join(about)
