"""Mode `dependency`: leaves that come after one another and never in a circle. Pure.

Files that import one another in a circle stay together. What is left has an order; groups are
joined, the closest first, but never so that two would wait for each other, and not so that the
longest chain of leaves, which no number of hands can shorten, grows without need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fanwise.plan.split.agglomerate import agglomerate
from fanwise.plan.split.chains import HANDS, Chains, befores
from fanwise.plan.split.circles import Circles
from fanwise.plan.split.closeness import Edges, beside, edges_of, weights_of
from fanwise.plan.split.components import components
from fanwise.plan.split.groups import Groups
from fanwise.plan.split.packing import pack
from fanwise.plan.split.part import Sizes
from fanwise.plan.split.rules import Rules


class AcyclicGroups(Groups):
    """Groups that are never joined to a circle, nor to a chain that is too long."""

    def __init__(
        self,
        members: Sequence[Sequence[str]],
        imports: Mapping[str, Sequence[str]],
        tokens: Sizes,
        rules: Rules,
    ) -> None:
        """`members`: what is imported comes first."""
        super().__init__(members, tokens, rules)
        work = [max(each, 1) for each in self.tokens]
        self.chains = Chains(befores(members, imports), work)
        least = max(self.chains.least(), rules.max_tokens, sum(work) // HANDS)
        self._most = least * rules.stretch

    def may(self, one: int, other: int) -> bool:
        """Whether both together keep to the limits and to the order."""
        return (
            super().may(one, other)
            and self.chains.time_through(one, other) <= self._most
            and not self.chains.makes_circle(one, other)
        )

    def join(self, one: int, other: int) -> None:
        """Make `other` a part of `one`."""
        super().join(one, other)
        self.chains.join(one, other)


def dependency(tokens: Sizes, circles: Circles, changed: Edges, rules: Rules) -> list[list[str]]:
    """Groups of files, what is imported before what imports it."""
    paths = sorted(tokens)
    members, imports = circles
    groups = AcyclicGroups(members, imports, tokens, rules)
    near = _between(members, weights_of(paths, edges_of(imports), changed, beside(paths)), paths)
    agglomerate(near, [float(len(files)) for files in members], groups.may, groups.join)
    pack(groups)
    _enlarge(groups, rules)
    return _in_order([sorted(groups.members[n]) for n in groups.alive()], imports)


def _in_order(groups: list[list[str]], imports: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """What is imported first."""
    groups = sorted(groups)
    before = dict(enumerate(befores(groups, imports)))
    return [groups[place] for circle in components(before) for place in circle]


def _enlarge(groups: AcyclicGroups, rules: Rules) -> None:
    """Join those that are too small with whom it holds up the least."""
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
    """The weights between files as those between groups of them."""
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
