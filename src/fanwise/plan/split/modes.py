"""Files to parts, by the mode of the rules; with the spine first, if there shall be one. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from fanwise.plan.split.circles import Imports, circles_of
from fanwise.plan.split.closeness import Edges
from fanwise.plan.split.dependency import dependency
from fanwise.plan.split.directory import by_directory
from fanwise.plan.split.independent import independent
from fanwise.plan.split.nesting import nest
from fanwise.plan.split.part import Sizes, SplitPart, leaf
from fanwise.plan.split.rules import Rules
from fanwise.plan.split.tidy import explained, without_small


class SplitInput(NamedTuple):
    """What is known about files before they are split."""

    tokens: Sizes
    imports: Imports
    deferred: Collection[tuple[str, str]]
    changed: Edges
    """Which changed together."""

    def of(self, paths: Collection[str]) -> SplitInput:
        """The same of some of the files."""
        return SplitInput(
            {path: size for path, size in self.tokens.items() if path in paths},
            _only(self.imports, paths),
            self.deferred,
            {pair: w for pair, w in self.changed.items() if pair[0] in paths and pair[1] in paths},
        )


class SplitShape(NamedTuple):
    """Parts, and the imports that say which leaf comes after which."""

    part: SplitPart
    order: Mapping[str, Sequence[str]]


def shape(found: SplitInput, spine: Collection[str], rules: Rules) -> SplitShape:
    """Split files. `spine`: hubs that come first."""
    fits = rules.fits(len(found.tokens), sum(found.tokens.values()))
    if fits:
        return SplitShape(leaf(found.tokens), {})
    rest = [path for path in found.tokens if path not in spine]
    if not spine or not rest:
        return _by_mode(found, rules)
    first = _by_mode(found.of(frozenset(spine)), rules)
    then = _by_mode(found.of(frozenset(rest)), rules)
    parts = [replace(each, spine=True) for each in first.part.leaves()]
    parts += then.part.parts or [then.part]
    return SplitShape(SplitPart(parts=tuple(parts)), {**first.order, **then.order})


def _by_mode(found: SplitInput, rules: Rules) -> SplitShape:
    tokens = found.tokens
    if rules.mode == "directory":
        part = without_small(by_directory(tokens, rules), tokens, rules)
        return SplitShape(explained(part, tokens, rules), {})
    if rules.mode == "independent":
        groups = independent(tokens, found.imports, found.changed, rules)
        return SplitShape(explained(nest(groups, found.imports, tokens, rules), tokens, rules), {})
    circles = circles_of(tokens, found.imports, found.deferred, rules)
    groups = dependency(tokens, circles, found.changed, rules)
    part = nest(groups, circles.imports, tokens, rules, in_order=True)
    return SplitShape(explained(part, tokens, rules), circles.imports)


def _only(imports: Imports, paths: Collection[str]) -> dict[str, tuple[str, ...]]:
    return {
        path: tuple(other for other in others if other in paths)
        for path, others in imports.items()
        if path in paths
    }
