"""The tree of sub-plans as a drawing, for `templates/picture.html`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fanwise.plan.model.node import Node, Split, Tree
from fanwise.plan.views.tree_text import leaf_count, thousands
from fanwise.view.formats import cut

WIDTH = 1000.0
ROW = 17.0
COLUMN = 150.0
"""Of the nodes above the leaves, one for each level."""
BAR = 110.0
LETTER = 6.1
"""About the width of a letter."""


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float
    class_: str
    radius: float


class Label(NamedTuple):
    """A text; `anchor`: on which side of its place it ends."""

    text: str
    x: float
    y: float
    anchor: str | None = None
    class_: str | None = "node"


class Mark(NamedTuple):
    """A part of a picture, and what it says when pointed at."""

    title: str
    box: Box
    labels: Sequence[Label]


class Picture(NamedTuple):
    """A drawing; `label` says in words what it shows."""

    label: str
    width: float
    height: float
    marks: Sequence[Mark]


def tree_picture(split: Split, classes: Mapping[str, str] | None = None) -> Picture:
    """The tree from left to right; each leaf is a row with its tokens as a bar.

    `classes`: the classes of leaves' colours, by id.
    """
    tree = split.tree
    levels = max(leaf.depth for leaf in tree.leaves)
    row = {leaf.id: place for place, leaf in enumerate(tree.leaves)}
    most = max(max(leaf.tokens for leaf in tree.leaves), 1)
    inner = [each for each in tree.nodes if each.children and each.depth]
    width = COLUMN if levels <= 4 else COLUMN * 4 / levels
    marks = [_node(tree, each, row, width) for each in inner]
    start = width * max(levels - 1, 0)
    marks += [_leaf(each, row[each.id], start, most, classes or {}) for each in tree.leaves]
    return Picture(f"The tree of {len(row)} sub-plans", WIDTH, len(row) * ROW + 2, marks)


def _node(tree: Tree, node: Node, row: Mapping[str, int], width: float) -> Mark:
    below = _leaves(tree, node)
    top, left = row[below[0].id] * ROW, (node.depth - 1) * width
    leaves, files = leaf_count(tree, node)
    height, class_ = len(below) * ROW - 2, f"area c{(node.depth - 1) % 8}"
    return Mark(
        f"{node.title}: {leaves} leaves, {files} files, {thousands(node.tokens)}",
        Box(left + 1, top + 1, width - 3, height, class_, 3),
        [Label(_fitting(node.title, width - 12), left + 6, top + 12.5)],
    )


def _leaf(leaf: Node, place: int, start: float, most: int, classes: Mapping[str, str]) -> Mark:
    top, wide = place * ROW, max(BAR * leaf.tokens / most, 1.5)
    colour = classes.get(leaf.id, "c4" if leaf.irreducible else "c0")
    title = f"{leaf.title}: {len(leaf.files)} files, {thousands(leaf.tokens)}"
    title += f"; irreducible: {leaf.irreducible}" if leaf.irreducible else ""
    title += f"; after {len(leaf.after)} others" if leaf.after else ""
    name = _fitting(leaf.title, WIDTH - start - BAR - 46)
    labels = [
        Label(f"{len(leaf.files)}", start + BAR + 34, top + 12.5, "end", None),
        Label(name, start + BAR + 42, top + 12.5),
    ]
    return Mark(title, Box(start + 4, top + 3, wide, ROW - 6, f"part {colour}", 2), labels)


def _leaves(tree: Tree, node: Node) -> list[Node]:
    if not node.children:
        return [node]
    return [leaf for name in node.children for leaf in _leaves(tree, tree.by_id[name])]


def _fitting(text: str, width: float) -> str:
    return cut(text, max(int(width / LETTER), 3))
