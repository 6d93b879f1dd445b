"""Parts as a tree of sub-plans: ids, titles, links. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from fanwise.plan.model.node import Node, Tree
from fanwise.plan.split.ids import id_of
from fanwise.plan.split.part import Sizes, SplitPart
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

    def tree(self, root: SplitPart, order: Mapping[str, Sequence[str]]) -> Tree:
        """All of it. A leaf comes after those that `order` says it imports from, and the spine."""
        nodes, _ = self._nodes(root, 0, None)
        tree = Tree(nodes=tuple(nodes))
        spine = [leaf.id for leaf in tree.leaves if leaf.spine]
        if not order and not spine:
            return tree
        place = {leaf.id: n for n, leaf in enumerate(tree.leaves)}
        after = {leaf.id: sorted(_after(leaf, tree, order, spine), key=place.__getitem__)
                 for leaf in tree.leaves}  # fmt: skip
        return Tree(
            nodes=tuple(replace(each, after=tuple(after.get(each.id, ()))) for each in nodes)
        )

    def _nodes(self, part: SplitPart, depth: int, parent: str | None) -> tuple[list[Node], str]:
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


def _after(
    leaf: Node, tree: Tree, order: Mapping[str, Sequence[str]], spine: Sequence[str]
) -> set[str]:
    found = {tree.owners[other] for path in leaf.files for other in order.get(path, ())}
    if not leaf.spine:
        found.update(spine)
    return found - {leaf.id}
