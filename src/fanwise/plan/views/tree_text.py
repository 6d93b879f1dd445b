"""The tree of sub-plans as lines of text. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from fanwise.plan.model.node import Node, Tree

WIDTH = 100
TITLE = 20
"""At least so much of a title is shown, however deep it stands."""


def tree_lines(
    tree: Tree,
    *,
    states: Mapping[str, str] | None = None,
    width: int = WIDTH,
    depth: int | None = None,
) -> list[str]:
    """A line for each sub-plan: its title, files and tokens; with `states`, what became of it.

    `depth`: only so many levels.
    """
    lines: list[str] = []
    waiting = [(tree.root, "", "")]
    while waiting:
        node, first, rest = waiting.pop()
        lines.append(_line(tree, node, first, states or {}, width))
        if depth is None or node.depth < depth:
            for place, name in enumerate(reversed(node.children)):
                twig, below = ("└─ ", "   ") if place == 0 else ("├─ ", "│  ")
                waiting.append((tree.by_id[name], rest + twig, rest + below))
    return lines


def first_tree_lines(
    tree: Tree, most: int | None, *, width: int = WIDTH, rest: str = ""
) -> list[str]:
    """The tree in at most so many lines: as many levels as fit, at least the first.

    What is left away is counted; `rest` says how to see it.
    """
    deepest = max(leaf.depth for leaf in tree.leaves)
    if most is None or len(tree.nodes) <= most:
        return tree_lines(tree, width=width)
    depth = deepest
    while depth > 1 and sum(node.depth <= depth for node in tree.nodes) > most:
        depth -= 1
    lines = tree_lines(tree, width=width, depth=depth)[:most]
    more = len(tree.nodes) - len(lines)
    return [*lines, f"… {more:,} more{f'; {rest}' if rest else ''}"]


def _line(tree: Tree, node: Node, first: str, states: Mapping[str, str], width: int) -> str:
    told = _about(tree, node)
    if node.id in states:
        told = f"{states[node.id]}  {told}"
    room = max(TITLE, width - len(first) - len(told) - 2)
    title = node.title.replace("\n", "\\n")
    title = title if len(title) <= room else f"{title[: room - 1]}…"
    return f"{first}{title:<{room}}  {told}"


def _about(tree: Tree, node: Node) -> str:
    leaves, files = leaf_count(tree, node)
    many = f"{leaves:>4} leaves" if node.children else f"{'':>11}"
    marks = " irreducible" if node.irreducible else ""
    return f"{many} {files:>5} files {thousands(node.tokens):>7}{marks}"


def leaf_count(tree: Tree, node: Node) -> tuple[int, int]:
    if not node.children:
        return 1, len(node.files)
    counts = [leaf_count(tree, tree.by_id[name]) for name in node.children]
    return sum(leaves for leaves, _ in counts), sum(files for _, files in counts)


def thousands(tokens: int) -> str:
    return f"{tokens} tok" if tokens < 1000 else f"{tokens / 1000:.0f}k tok"
