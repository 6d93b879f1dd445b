"""What a run of a plan shall do, as its state machines take it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from fanwise.plan.model.leaf_result import SubPlan
from fanwise.plan.model.merge_result import Strategy
from fanwise.plan.model.node import Tree

Grow = Callable[[Tree, str, Sequence[SubPlan]], Tree]
"""Puts the sub-plans that a leaf returned below it. A `FanwiseError`: they cannot be."""


class PlanPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides, beside the tree and what comes of each item."""

    base: str
    """The commit that all starts from."""
    work: str = ""
    """A digest of who does the sub-plans and how they are verified."""
    strategy: Strategy = "three_way"
    check: str | None = None
    """The command for the merged tree."""
    bisect: bool = False
    fail_fast: bool = False
    result: str = "branch"
    shared: Callable[[str], bool] = lambda path: False
    """Whether a file is one that all may change: nobody begins with the changes to it."""
