"""The tree, and the graph between leaves, as SVG for a page. Pure.

Colours are classes that the page's style knows, for light and for dark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from fanwise.plan.node import Node, Split, Tree
from fanwise.plan.split.picture.text import leaf_count, thousands
from fanwise.view.markup import Child, Html, element

WIDTH = 1000.0
ROW = 17.0
COLUMN = 150.0
"""Of the nodes above the leaves, one for each level."""
BAR = 110.0
LETTER = 6.1
"""About the width of a letter."""
SIDE = 640.0
"""Of the graph, if there are many leaves."""
NAMED = 48
"""Up to so many leaves, their names stand beside the graph."""


def tree_svg(split: Split, classes: Mapping[str, str] | None = None) -> Html:
    """The tree from left to right; each leaf is a row with its tokens as a bar.

    `classes`: of leaves, by id, the class of their colour.
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
    return _drawing(marks, len(row) * ROW + 2, WIDTH, f"The tree of {len(row)} sub-plans")


def _node(tree: Tree, node: Node, row: Mapping[str, int], width: float) -> Html:
    below = _leaves(tree, node)
    top, count = row[below[0].id] * ROW, len(below)
    leaves, files = leaf_count(tree, node)
    left = (node.depth - 1) * width
    told = f"{node.title}: {leaves} leaves, {files} files, {thousands(node.tokens)}"
    box = element(
        "rect", x=left + 1, y=top + 1, width=width - 3, height=count * ROW - 2, rx=3,
        class_=f"area c{(node.depth - 1) % 8}",
    )  # fmt: skip
    text = element("text", _cut(node.title, width - 12), x=left + 6, y=top + 12.5, class_="node")
    return element("g", element("title", told), box, text)


def _leaf(leaf: Node, place: int, start: float, most: int, classes: Mapping[str, str]) -> Html:
    top, wide = place * ROW, max(BAR * leaf.tokens / most, 1.5)
    colour = classes.get(leaf.id, "c4" if leaf.irreducible else "c3" if leaf.spine else "c0")
    told = f"{leaf.title}: {len(leaf.files)} files, {thousands(leaf.tokens)}"
    told += f"; irreducible: {leaf.irreducible}" if leaf.irreducible else ""
    told += "; spine" if leaf.spine else ""
    told += f"; after {len(leaf.after)} others" if leaf.after else ""
    bar = element("rect", x=start + 4, y=top + 3, width=wide, height=ROW - 6, rx=2,
                  class_=f"part {colour}")  # fmt: skip
    size = element("text", f"{len(leaf.files)}", x=start + BAR + 34, y=top + 12.5,
                   text_anchor="end")  # fmt: skip
    name = element("text", _cut(leaf.title, WIDTH - start - BAR - 46), x=start + BAR + 42,
                   y=top + 12.5, class_="node")  # fmt: skip
    return element("g", element("title", told), bar, size, name)


def graph_svg(split: Split) -> Html:
    """Who imports from whom: a row for each leaf, a mark where it imports from another's column.

    The darker, the more imports. On the diagonal are those inside of a leaf. Where leaves come
    after one another, what is above the diagonal goes against the order.
    """
    leaves = split.tree.leaves
    counts = _between(split)
    named = len(leaves) <= NAMED
    cell = ROW if named else max(SIDE / len(leaves), 2.0)
    left = 330.0 if named else 4.0
    side = cell * len(leaves)
    marks = [_frame(left, side), *_blocks(split.tree, left, cell)]
    most = max((count for (a, b), count in counts.items() if a != b), default=1)
    marks += [_cell(leaves, pair, counts[pair], most, left, cell) for pair in sorted(counts)]
    if named:
        marks += [
            element("text", _cut(f"{place + 1}  {leaf.title}", left - 14), x=left - 6,
                    y=place * cell + 12.5, text_anchor="end", class_="node")
            for place, leaf in enumerate(leaves)
        ]  # fmt: skip
    label = f"Imports between {len(leaves)} sub-plans"
    return _drawing(marks, side + 4, max(left + side + 4, 400), label)


def _frame(left: float, side: float) -> Html:
    return element("rect", x=left, y=0.5, width=side, height=side, class_="frame")


def _blocks(tree: Tree, left: float, cell: float) -> Iterator[Html]:
    """The parts of the tree, as squares on the diagonal."""
    row = {leaf.id: place for place, leaf in enumerate(tree.leaves)}
    for node in tree.nodes:
        if node.children and node.depth:
            below = _leaves(tree, node)
            place, side = row[below[0].id] * cell, len(below) * cell
            yield element("rect", x=left + place, y=place + 0.5, width=side, height=side,
                          class_="block")  # fmt: skip


def _cell(
    leaves: tuple[Node, ...], pair: tuple[int, int], count: int, most: int, left: float, cell: float
) -> Html:
    here, there = pair
    if here == there:
        told, kind, strength = f"{leaves[here].title}: {count} imports inside", "inside", 0.35
    else:
        told = f"{leaves[here].title} imports {count} times from {leaves[there].title}"
        kind, strength = "c0", 0.3 + 0.7 * min(count / min(most, 12), 1.0)
    if here < there and _ordered(leaves[here], leaves):
        kind = "c4"
    return element(
        "rect", element("title", told), x=left + there * cell, y=here * cell + 0.5,
        width=max(cell - 0.5, 1), height=max(cell - 0.5, 1), class_=f"mark {kind}",
        fill_opacity=round(strength, 2),
    )  # fmt: skip


def _ordered(leaf: Node, leaves: tuple[Node, ...]) -> bool:
    """Whether leaves come after one another at all."""
    return any(each.after for each in leaves) and not leaf.spine


def _between(split: Split) -> Counter[tuple[int, int]]:
    place = {leaf.id: n for n, leaf in enumerate(split.tree.leaves)}
    owners = split.tree.owners
    return Counter(
        (place[owners[path]], place[owners[other]])
        for path, others in split.imports.items()
        for other in others
        if path in owners and other in owners
    )


def _leaves(tree: Tree, node: Node) -> list[Node]:
    if not node.children:
        return [node]
    return [leaf for name in node.children for leaf in _leaves(tree, tree.by_id[name])]


def _drawing(marks: Child, height: float, width: float, label: str) -> Html:
    return element(
        "svg", marks, width=width, height=height, role="img", aria_label=label, class_="split"
    )


def _cut(text: str, width: float) -> str:
    room = max(int(width / LETTER), 3)
    return text if len(text) <= room else f"{text[: room - 1]}…"
