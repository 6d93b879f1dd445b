"""Parts as a tree of sub-plans: ids, titles, links. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from fanwise.plan.node import Node, Tree
from fanwise.plan.split.ids import id_of
from fanwise.plan.split.part import Part, Sizes
from fanwise.plan.split.rules import Rules
from fanwise.plan.split.titles import folder_counts, title_of


class Grower:
    """Makes nodes of parts. A child is linked by the id of the very part that it was made from."""

    def __init__(self, goal: str, tokens: Sizes, digests: Mapping[str, str], rules: Rules) -> None:
        self._goal = goal
        self._tokens = tokens
        self._digests = digests
        self._rules = rules
        self._folders = folder_counts(tokens)

    def tree(self, root: Part) -> Tree:
        """All of it, without the order between leaves."""
        nodes, _ = self._nodes(root, 0, None)
        return Tree(nodes=tuple(nodes))

    def _nodes(self, part: Part, depth: int, parent: str | None) -> tuple[list[Node], str]:
        files = tuple(sorted(path for each in part.leaves() for path in each.files))
        name = id_of(self._goal, files, self._digests, self._rules)
        below = [self._nodes(each, depth + 1, name) for each in part.parts]
        node = Node(
            id=name,
            title=title_of(files, self._folders),
            depth=depth,
            parent=parent,
            children=tuple(child for _, child in below),
            files=() if part.parts else files,
            tokens=sum(self._tokens[path] for path in files),
            spine=part.spine,
            irreducible=part.why,
        )
        return [node, *(each for nodes, _ in below for each in nodes)], name
