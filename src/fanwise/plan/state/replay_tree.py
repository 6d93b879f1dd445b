"""The tree of a run as it became: with the sub-plans that leaves returned. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fanwise.errors import BadSubPlans
from fanwise.plan.model.leaf_result import LeafResult
from fanwise.plan.model.node import Split, Tree
from fanwise.plan.spec.plan_spec import SplitSpec
from fanwise.plan.split.grow import grow
from fanwise.plan.split.rules import Rules


class Began(msgspec.Struct, frozen=True, kw_only=True):
    """What a run started from, as far as readers of its journal need it."""

    commit: str = msgspec.field(name="base")
    split: Split
    digests: Mapping[str, str]
    tokens: Mapping[str, int]


def grown(base: Began, ended: Mapping[str, LeafResult], plan: Mapping[str, Any]) -> Tree:
    """With all that leaves returned, and what those returned; `plan`: what stood in the file."""
    rules = Rules(**SplitSpec.model_validate(plan.get("split") or {}).model_dump())
    tree = base.split.tree
    waiting = [leaf.id for leaf in tree.leaves]
    while waiting:
        leaf = waiting.pop()
        found = ended.get(leaf)
        if found is None or found.status != "split":
            continue
        try:
            tree = grow(
                tree, leaf, found.subplans, rules=rules, digests=base.digests, tokens=base.tokens,
                goal=plan.get("goal", ""),
            )  # fmt: skip
        except BadSubPlans:  # it was refused when it came, too
            continue
        waiting += tree.by_id[leaf].children
    return tree
