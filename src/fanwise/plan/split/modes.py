"""Files to parts, by the mode of the rules. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from posixpath import dirname
from typing import NamedTuple

from fanwise.plan.split.dependency import Imports, circles_of, dependency
from fanwise.plan.split.grouping import (
    Groups,
    agglomerate,
    beside,
    edges_of,
    pack,
    refine,
    weights_of,
)
from fanwise.plan.split.rules import Rules, Sizes
from fanwise.plan.split.tree import SplitPart, leaf, nest, with_reasons


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
        part = nest(_packed(in_folders(tokens, rules), tokens, rules), rules)
    elif rules.mode == "independent":
        part = nest(independent(tokens, imports, rules), rules)
    else:
        circles = circles_of(tokens, imports, deferred, rules)
        part, order = nest(dependency(tokens, circles, rules), rules), circles.imports
    return SplitShape(with_reasons(part, tokens, rules), order)


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
    return _packed(found, tokens, rules)


def in_folders(tokens: Sizes, rules: Rules) -> list[list[str]]:
    """Groups of files that lie beside one another in a folder, each as large as may be."""
    found: list[list[str]] = []
    size = 0
    for path in sorted(tokens, key=lambda path: (dirname(path), path)):
        size += tokens[path]
        last = found[-1] if found else []
        if last and dirname(last[0]) == dirname(path) and rules.fits(len(last) + 1, size):
            last.append(path)
        else:
            found.append([path])
            size = tokens[path]
    return found


def _packed(found: list[list[str]], tokens: Sizes, rules: Rules) -> list[list[str]]:
    """Join small groups with those in the same folder, then in the folder above, while they fit."""
    groups = Groups(found, tokens, rules)
    pack(groups)
    return sorted(sorted(groups.members[n]) for n in groups.alive())
