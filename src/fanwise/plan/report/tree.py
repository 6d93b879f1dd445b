"""The tree with states. What is all right is folded, so that hundreds of leaves can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from fanwise.plan.node import Node
from fanwise.plan.recorded import Leaf, Recorded
from fanwise.plan.report.marks import anchor, count_chips, files_text, state_chip
from fanwise.plan.states import ACTIVE, WRONG, State
from fanwise.plan.telling import one_line, plural
from fanwise.view.markup import Child, Html, element
from fanwise.view.pieces import duration_text, folded

FEW = 30
"""So many leaves are shown unfolded, whatever their states are."""

Counts = Mapping[str, Counter[State]]


def tree_view(found: Recorded) -> Html:
    """From the root down."""
    counts = count_leaves(found)
    return element("div", _node(found.tree.root, found, counts), class_="tree")


def count_leaves(found: Recorded) -> Counts:
    """For each node, how many of the leaves below it are in which state."""
    counts: dict[str, Counter[State]] = {}
    for leaf in found.tree.leaves:
        state = found.leaves[leaf.id].state
        for node in (leaf, *found.tree.above(leaf)):
            counts.setdefault(node.id, Counter())[state] += 1
    return counts


def _node(node: Node, found: Recorded, counts: Counts) -> Html:
    if not node.children:
        return _leaf(found.leaves[node.id])
    mine = counts[node.id]
    few = counts[found.tree.root.id].total() <= FEW
    below = [found.tree.by_id[child] for child in node.children]
    loud = [each for each in below if few or each.children or _calls(counts, each)]
    quiet = [each for each in below if not (few or each.children or _calls(counts, each))]
    shown = [_node(each, found, counts) for each in loud]
    if quiet:
        shown.append(_others(quiet, found, first=not shown))
    open_ = node.parent is None or few or _calls(counts, node)
    summary = [
        element("span", node.title or "all", class_="name"),
        element("span", plural(mine.total(), "sub-plan"), class_="small"),
        element("span", count_chips(mine), class_="chips"),
    ]
    return folded(summary, element("div", shown, class_="below"), open_=open_, class_="node")


def _calls(counts: Counts, node: Node) -> bool:
    """Whether somebody should look at it."""
    return any(state in WRONG or state in ACTIVE for state in counts[node.id])


def _others(nodes: list[Node], found: Recorded, *, first: bool) -> Html:
    """Leaves of a group with which all is well."""
    leaves = [found.leaves[node.id] for node in nodes]
    rows = [_leaf(each) for each in leaves]
    if first:
        return element("div", rows)
    counts: Counter[State] = Counter(each.state for each in leaves)
    summary = [
        element("span", f"{len(leaves):,} others", class_="name small"),
        element("span", count_chips(counts), class_="chips"),
    ]
    return folded(summary, element("div", rows, class_="below"), class_="node")


def _leaf(leaf: Leaf) -> Html:
    return element(
        "div",
        element("a", leaf.node.title, href=f"#{anchor(leaf.node.id)}", class_="name"),
        element("span", list(_about(leaf)), class_="small"),
        element("span", state_chip(leaf.state), class_="chips"),
        class_="leaf",
    )


def _about(leaf: Leaf) -> Iterator[Child]:
    told = [files_text(leaf)]
    if leaf.node.spine:
        told.append("spine")
    if leaf.node.irreducible:
        told.append("irreducible")
    if leaf.ran_s:
        told.append(duration_text(leaf.ran_s))
    if leaf.tries:
        told.append(f"{plural(len(leaf.tries), 'try', 'tries')} that did not do")
    yield ", ".join(told)
    if leaf.why:
        yield ". "
        yield element("span", one_line(leaf.why), class_="why")
