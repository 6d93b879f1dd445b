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
    _draw(tree, tree.root, "", "", states or {}, width, depth, lines)
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


def _draw(
    tree: Tree,
    node: Node,
    first: str,
    rest: str,
    states: Mapping[str, str],
    width: int,
    depth: int | None,
    lines: list[str],
) -> None:
    lines.append(_line(tree, node, first, states, width))
    if depth is not None and node.depth >= depth and node.children:
        return
    for place, name in enumerate(node.children, 1):
        last = place == len(node.children)
        _draw(
            tree, tree.by_id[name], rest + ("└─ " if last else "├─ "),
            rest + ("   " if last else "│  "), states, width, depth, lines,
        )  # fmt: skip


def _line(tree: Tree, node: Node, first: str, states: Mapping[str, str], width: int) -> str:
    told = _told(tree, node)
    if node.id in states:
        told = f"{states[node.id]}  {told}"
    room = max(TITLE, width - len(first) - len(told) - 2)
    title = node.title.replace("\n", "\\n")
    title = title if len(title) <= room else f"{title[: room - 1]}…"
    return f"{first}{title:<{room}}  {told}"


def _told(tree: Tree, node: Node) -> str:
    below = sum(leaf_count(tree, node))
    marks = " irreducible" if node.irreducible else ""
    if node.children:
        leaves, files = leaf_count(tree, node)
        return f"{leaves:>4} leaves {files:>5} files {thousands(node.tokens):>7}{marks}"
    return f"{'':>11} {below - 1:>5} files {thousands(node.tokens):>7}{marks}"


def leaf_count(tree: Tree, node: Node) -> tuple[int, int]:
    if not node.children:
        return 1, len(node.files)
    counts = [leaf_count(tree, tree.by_id[name]) for name in node.children]
    return sum(leaves for leaves, _ in counts), sum(files for _, files in counts)


def thousands(tokens: int) -> str:
    return f"{tokens} tok" if tokens < 1000 else f"{tokens / 1000:.0f}k tok"
