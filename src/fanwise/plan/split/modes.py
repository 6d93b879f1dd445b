"""Files to parts, by the mode of the rules. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from fanwise.plan.split.closeness import beside, edges_of, weights_of
from fanwise.plan.split.dependency import Imports, circles_of, dependency
from fanwise.plan.split.directory import by_directory
from fanwise.plan.split.grouping import Groups, agglomerate, pack, refine
from fanwise.plan.split.rules import Rules, Sizes
from fanwise.plan.split.tree import SplitPart, explained, leaf, nest


class SplitShape(NamedTuple):
    """Parts, and the imports that say which leaf comes after which."""

    part: SplitPart
    order: Mapping[str, Sequence[str]]


def shape(
    tokens: Sizes, imports: Imports, deferred: Collection[tuple[str, str]], rules: Rules
) -> SplitShape:
    """Split files. `deferred` are imports without which the importer loads."""
    if rules.fits(len(tokens), sum(tokens.values())):
        return SplitShape(leaf(tokens), {})
    order: Mapping[str, Sequence[str]] = {}
    if rules.mode == "directory":
        part = by_directory(tokens, rules)
    elif rules.mode == "independent":
        part = nest(independent(tokens, imports, rules), rules)
    else:
        circles = circles_of(tokens, imports, deferred, rules)
        part, order = nest(dependency(tokens, circles, rules), rules), circles.imports
    return SplitShape(explained(part, tokens, rules), order)


def independent(tokens: Sizes, imports: Imports, rules: Rules) -> list[list[str]]:
    """Groups of files with as few imports between them as possible.

    Files are joined, the closest first, up to the limits; then each moves to where it has most to
    do with, and small groups are packed by folder. METIS and Louvain cut no fewer imports here,
    and know no limits: what they make has to be split and packed again.
    """
    paths = sorted(tokens)
    near = weights_of(paths, edges_of(imports), beside(paths))
    groups = Groups([[path] for path in paths], tokens, rules)
    agglomerate(near, [1.0] * len(paths), groups.may, groups.join)
    found = refine([groups.members[n] for n in groups.alive()], paths, near, tokens, rules)
    found = refine(_packed(found, tokens, rules), paths, near, tokens, rules)
    return sorted(sorted(files) for files in _packed(found, tokens, rules))


def _packed(found: list[list[str]], tokens: Sizes, rules: Rules) -> list[list[str]]:
    groups = Groups(found, tokens, rules)
    pack(groups)
    return [groups.members[n] for n in groups.alive()]
