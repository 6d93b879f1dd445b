"""Mode `dependency`: leaves in import order, never in a cycle. Pure.

Files that import one another in a cycle stay together if they fit into a leaf. A larger cycle is
opened at imports inside functions: that is how its authors opened it. The rest has an order. Groups
are joined, the closest first, but never so that two would wait for each other, and not so that the
longest chain of leaves, which more workers cannot shorten, grows without need.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from fanwise.plan.split.graphs import HANDS, Chains, befores, components
from fanwise.plan.split.grouping import (
    Groups,
    agglomerate,
    beside,
    edges_of,
    pack,
    weights_of,
)
from fanwise.plan.split.rules import Rules, Sizes

Imports = Mapping[str, Sequence[str]]
STRETCH = 1.05
"""How many times the shortest possible duration the whole plan may take because leaves wait."""


class Circles(NamedTuple):
    """Groups in import order, and the imports that make this order."""

    groups: list[list[str]]
    imports: dict[str, tuple[str, ...]]


def circles_of(
    tokens: Sizes, imports: Imports, deferred: Collection[tuple[str, str]], rules: Rules
) -> Circles:
    """Groups of files that must stay together."""
    graph = {path: tuple(imports.get(path, ())) for path in sorted(tokens)}
    left_away: set[tuple[str, str]] = set()
    for group in components(graph):
        if not rules.fits(len(group), sum(tokens[path] for path in group)):
            left_away |= _against(group, graph, deferred)
    order = {
        path: tuple(other for other in others if (path, other) not in left_away)
        for path, others in graph.items()
    }
    return Circles(components(order), order)


def _against(
    group: Sequence[str], graph: Imports, deferred: Collection[tuple[str, str]]
) -> set[tuple[str, str]]:
    """The deferred imports to drop so that a cycle is opened."""
    inside = set(group)
    edges = [(path, other) for path in group for other in graph[path] if other in inside]
    later = [edge for edge in edges if edge in deferred]
    if not later:
        return set()
    at_once: dict[str, list[str]] = {path: [] for path in group}
    for path, other in edges:
        if (path, other) not in deferred:
            at_once[path].append(other)
    parts = components(at_once)
    part_of = {path: place for place, files in enumerate(parts) for path in files}
    reach = _reach(parts, at_once, part_of)
    return set(_not_kept(later, part_of, reach))


def _reach(parts: Sequence[Sequence[str]], graph: Imports, part_of: Mapping[str, int]) -> list[int]:
    """For each part, the bits of the parts that it imports, directly or not."""
    reach: list[int] = []
    for place, files in enumerate(parts):  # what is imported has its bits already
        bits = 1 << place
        for path in files:
            for other in graph[path]:
                if part_of[other] != place:
                    bits |= reach[part_of[other]]
        reach.append(bits)
    return reach


def _not_kept(
    later: Iterable[tuple[str, str]], part_of: Mapping[str, int], reach: list[int]
) -> Iterable[tuple[str, str]]:
    """Add the imports one by one; return those that would close a cycle."""
    for path, other in later:
        one, target = part_of[path], part_of[other]
        if one == target:
            continue
        if reach[target] >> one & 1:
            yield path, other
        elif not reach[one] >> target & 1:
            for place, bits in enumerate(reach):
                if bits >> one & 1:
                    reach[place] |= reach[target]


class AcyclicGroups(Groups):
    """Groups that are never joined into a cycle or a chain that is too long."""

    def __init__(
        self,
        members: Sequence[Sequence[str]],
        imports: Mapping[str, Sequence[str]],
        tokens: Sizes,
        rules: Rules,
    ) -> None:
        """`members` is in import order."""
        super().__init__(members, tokens, rules)
        work = [max(each, 1) for each in self.tokens]
        self.chains = Chains(befores(members, imports), work)
        least = max(self.chains.least(), rules.max_tokens, sum(work) // HANDS)
        self._most = least * STRETCH

    def may(self, one: int, other: int) -> bool:
        """Whether the two together are within the limits and keep the order."""
        return (
            super().may(one, other)
            and self.chains.time_through(one, other) <= self._most
            and not self.chains.makes_circle(one, other)
        )

    def join(self, one: int, other: int) -> None:
        super().join(one, other)
        self.chains.join(one, other)


def dependency(tokens: Sizes, circles: Circles, rules: Rules) -> list[list[str]]:
    paths = sorted(tokens)
    members, imports = circles
    groups = AcyclicGroups(members, imports, tokens, rules)
    near = _between(members, weights_of(paths, edges_of(imports), beside(paths)), paths)
    agglomerate(near, [float(len(files)) for files in members], groups.may, groups.join)
    pack(groups)
    _enlarge(groups, rules)
    return _in_order([sorted(groups.members[n]) for n in groups.alive()], imports)


def _in_order(groups: list[list[str]], imports: Mapping[str, Sequence[str]]) -> list[list[str]]:
    groups = sorted(groups)
    before = dict(enumerate(befores(groups, imports)))
    return [groups[place] for circle in components(before) for place in circle]


def _enlarge(groups: AcyclicGroups, rules: Rules) -> None:
    """Join groups that are too small with those that they delay the least."""
    for place in groups.alive():
        while 0 < len(groups.members[place]) < rules.min_files:
            others = [one for one in groups.alive() if one != place and groups.may(one, place)]
            if not others:
                break
            best = min(others, key=lambda one: (groups.chains.time_through(one, place), one))
            groups.join(place, best)


def _between(
    groups: Sequence[Sequence[str]], near: Sequence[Mapping[int, float]], paths: Sequence[str]
) -> list[dict[int, float]]:
    """Add the weights between files up to weights between groups."""
    owner = {path: place for place, files in enumerate(groups) for path in files}
    places = [owner[path] for path in paths]
    found: list[dict[int, float]] = [{} for _ in groups]
    for file, others in enumerate(near):
        here = places[file]
        for other, weight in others.items():
            there = places[other]
            if here != there:
                found[here][there] = found[here].get(there, 0.0) + weight
    return found
