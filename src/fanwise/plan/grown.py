"""The tree of a run as it became: with the sub-plans that leaves returned. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fanwise.errors import BadSubPlans
from fanwise.plan.ended import Ended
from fanwise.plan.node import Tree
from fanwise.plan.split.grow import grow
from fanwise.plan.split.rules import Rules


def grown(tree: Tree, ended: Mapping[str, Ended], spec: Mapping[str, Any]) -> Tree:
    """With all that leaves returned, and that what those returned; `spec`: that of the run."""
    digests: Mapping[str, str] = spec.get("digests") or {}
    plan = (spec.get("data") or {}).get("plan") or {}
    rules = msgspec.convert(plan.get("split") or {}, Rules)
    waiting = [leaf.id for leaf in tree.leaves]
    while waiting:
        leaf = waiting.pop(0)
        found = ended.get(leaf)
        if found is None or found.status != "split":
            continue
        try:
            tree = grow(
                tree, leaf, found.subplans, rules=rules, digests=digests, goal=plan.get("goal", "")
            )
        except (BadSubPlans, KeyError):  # it was refused when it came, too
            continue
        waiting += tree.by_id[leaf].children
    return tree
