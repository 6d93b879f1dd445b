"""Mode `independent`: as few imports between leaves as can be. Pure.

Files are joined, the closest first, up to the limits; then each is moved to where it has most to do
with, and what is small is packed by folders. METIS and Louvain cut no fewer imports here, and know
no limits: what they make has to be split and packed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fanwise.plan.split.agglomerate import agglomerate
from fanwise.plan.split.closeness import Edges, beside, edges_of, weights_of
from fanwise.plan.split.groups import Groups
from fanwise.plan.split.packing import pack
from fanwise.plan.split.part import Sizes
from fanwise.plan.split.refine import refine
from fanwise.plan.split.rules import Rules


def independent(
    tokens: Sizes, imports: Mapping[str, Sequence[str]], changed: Edges, rules: Rules
) -> list[list[str]]:
    """Groups of files, each of which can be a leaf."""
    paths = sorted(tokens)
    near = weights_of(paths, edges_of(imports), changed, beside(paths))
    groups = Groups([[path] for path in paths], tokens, rules)
    agglomerate(near, [1.0] * len(paths), groups.may, groups.join)
    found = refine([groups.members[n] for n in groups.alive()], paths, near, tokens, rules)
    found = refine(_packed(found, tokens, rules), paths, near, tokens, rules)
    return sorted(sorted(files) for files in _packed(found, tokens, rules))


def _packed(found: list[list[str]], tokens: Sizes, rules: Rules) -> list[list[str]]:
    groups = Groups(found, tokens, rules)
    pack(groups)
    return [groups.members[n] for n in groups.alive()]
