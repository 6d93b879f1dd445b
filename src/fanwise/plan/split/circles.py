"""Files that import one another in a circle, and where a large circle may be opened. Pure.

A circle that fits into a leaf stays together. One that does not is opened at the imports that stand
in functions: that is how its authors opened it. Of these, as many as can be are kept as an order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from fanwise.plan.split.components import components
from fanwise.plan.split.part import Sizes
from fanwise.plan.split.rules import Rules

Imports = Mapping[str, Sequence[str]]


class Circles(NamedTuple):
    """Groups, what is imported first, and the imports that make this order."""

    groups: list[list[str]]
    imports: dict[str, tuple[str, ...]]


def circles_of(
    tokens: Sizes, imports: Imports, deferred: Collection[tuple[str, str]], rules: Rules
) -> Circles:
    """The groups that nobody may take apart."""
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
    """Those deferred imports inside of a circle without which it is not one."""
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
    """Of each part, the bits of those that it imports, at once or by way of others."""
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
    """Take in one after the other; give back those that would close a circle."""
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
