"""Trees and runs of a plan for tests, made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fanwise.plan.node import Node, Tree


def leaf(title: str, **more: Any) -> Node:
    given: dict[str, Any] = {"id": title, "title": title, "files": (f"{title}.py",), **more}
    return Node(**given)


def tree(groups: Mapping[str, Sequence[str | Node]], title: str = "the goal") -> Tree:
    """Two levels; an id is the title."""
    nodes = [Node(id="root", title=title, children=tuple(groups))]
    for group, members in groups.items():
        leaves = [each if isinstance(each, Node) else leaf(each) for each in members]
        nodes.append(
            Node(
                id=group,
                title=group,
                depth=1,
                parent="root",
                children=tuple(each.id for each in leaves),
            )
        )
        nodes += [_below(each, group) for each in leaves]
    return Tree(nodes=tuple(nodes))


def _below(node: Node, parent: str) -> Node:
    return replace(node, parent=parent, depth=2)
