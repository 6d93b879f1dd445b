"""Leaves put under nodes, close ones under the same, so that people see a tree. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fanwise.plan.split.agglomerate import agglomerate
from fanwise.plan.split.imports.paths import shared
from fanwise.plan.split.part import Sizes, SplitPart, leaf, whole
from fanwise.plan.split.rules import Rules

WIDTH = 4
"""So many parts has a node, unless the tree would become too deep."""
NEAR = 0.01
"""What a folder in common counts beside an import."""


@dataclass(frozen=True)
class GroupPair:
    """Two groups that were joined, and how many leaves they have."""

    first: GroupPair | int
    second: GroupPair | int
    leaves: int


def nest(
    groups: Sequence[Sequence[str]],
    imports: Mapping[str, Sequence[str]],
    tokens: Sizes,
    rules: Rules,
    *,
    in_order: bool = False,
) -> SplitPart:
    """A tree over groups. `in_order`: only neighbours come together, and the order stays."""
    if len(groups) == 1:
        return leaf(groups[0])
    near = _neighbours(groups)
    if in_order:
        near = [
            {n: w for n, w in each.items() if abs(n - here) == 1} for here, each in enumerate(near)
        ]
        _add_imports(near, groups, imports, only_neighbours=True)
    else:
        _add_imports(near, groups, imports, only_neighbours=False)
    levels = 1
    while levels < rules.max_depth and WIDTH**levels < len(groups):
        levels += 1
    return _Tree(groups, tokens, rules, collapse=not in_order).part(_paired(near), levels)


def _neighbours(groups: Sequence[Sequence[str]]) -> list[dict[int, float]]:
    near: list[dict[int, float]] = [{} for _ in groups]
    for one, other in pairwise(range(len(groups))):
        weight = NEAR * (1 + shared(groups[one][0], groups[other][0]))
        near[one][other] = near[other][one] = weight
    return near


def _add_imports(
    near: list[dict[int, float]],
    groups: Sequence[Sequence[str]],
    imports: Mapping[str, Sequence[str]],
    *,
    only_neighbours: bool,
) -> None:
    owner = {path: place for place, files in enumerate(groups) for path in files}
    for path, here in owner.items():
        for other in imports.get(path, ()):
            there = owner[other]
            if here != there and (not only_neighbours or abs(here - there) == 1):
                near[here][there] = near[there][here] = near[here].get(there, 0.0) + 1.0


def _paired(near: Sequence[dict[int, float]]) -> GroupPair | int:
    """All groups as pairs of pairs."""
    made: dict[int, GroupPair | int] = {place: place for place in range(len(near))}
    for one, other in agglomerate(near, [1.0] * len(near), lambda *_: True, lambda *_: None):
        made[one] = _pair(made[one], made.pop(other))
    (last,) = made.values()  # neighbours are joined all along, so there is one
    return last


def _pair(one: GroupPair | int, other: GroupPair | int) -> GroupPair:
    first, second = sorted((one, other), key=_start)
    return GroupPair(first, second, _count(one) + _count(other))


def _start(node: GroupPair | int) -> int:
    while isinstance(node, GroupPair):
        node = node.first
    return node


def _count(node: GroupPair | int) -> int:
    return node.leaves if isinstance(node, GroupPair) else 1


def _below(node: GroupPair | int) -> list[int]:
    """The leaves, from first to last. Pairs can be thousands deep: without recursion."""
    found, left = [], [node]
    while left:
        each = left.pop()
        if isinstance(each, GroupPair):
            left += [each.second, each.first]
        else:
            found.append(each)
    return found


class _Tree:
    """Makes parts of pairs, so many levels at most."""

    def __init__(
        self, groups: Sequence[Sequence[str]], tokens: Sizes, rules: Rules, *, collapse: bool
    ) -> None:
        self._groups = groups
        self._tokens = tokens
        self._rules = rules
        self._collapse = collapse

    def part(self, node: GroupPair | int, levels: int) -> SplitPart:
        """A node with its parts; what fits into one leaf is not split."""
        if not isinstance(node, GroupPair):
            return leaf(self._groups[node])
        places = _below(node)
        files = [path for place in places for path in self._groups[place]]
        if self._collapse and self._rules.fits(
            len(files), sum(self._tokens[path] for path in files)
        ):
            return leaf(files)
        if levels == 1:
            return whole(leaf(self._groups[place]) for place in places)
        return whole(self.part(each, levels - 1) for each in _wide(node, WIDTH ** (levels - 1)))


def _wide(node: GroupPair, most: int) -> Iterable[GroupPair | int]:
    """What a node is split into: the greatest taken apart until there are enough."""
    parts: list[GroupPair | int] = [node.first, node.second]
    while True:
        place = max(range(len(parts)), key=lambda n: (_count(parts[n]), -n))
        greatest = parts[place]
        if not isinstance(greatest, GroupPair) or (len(parts) >= WIDTH and greatest.leaves <= most):
            return parts
        parts[place : place + 1] = [greatest.first, greatest.second]
