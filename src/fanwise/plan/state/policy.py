"""The settings of a plan that its state machines use."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from fanwise.plan.model.leaf_result import SubPlan
from fanwise.plan.model.node import Tree
from fanwise.plan.spec.plan_spec import PlanBase, PlanSpec
from fanwise.plan.split.grow import grow
from fanwise.plan.split.patterns import Patterns
from fanwise.plan.work.names import Names

Grow = Callable[[Tree, str, Sequence[SubPlan]], Tree]
"""Puts the sub-plans that a leaf returned below it. A `FanwiseError`: they cannot be."""


class PlanPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides, apart from the tree and the outcomes."""

    base: str
    """The commit that all starts from."""
    work: str = ""
    """A digest of who does the sub-plans and how they are verified."""
    check: str | None = None
    """The command for the merged tree."""
    bisect: bool = False
    fail_fast: bool = False
    as_finished: bool = False
    """Each sub-plan is merged as soon as it is finished: it is a task."""
    result: str = "branch"
    shared: Callable[[str], bool] = lambda path: False
    """Whether a file is one that all may change: nobody begins with the changes to it."""


def policy_of(spec: PlanSpec, base: PlanBase, work: str, *, bisect: bool) -> PlanPolicy:
    shared = Names(base.inside).patterns(spec.shared)
    patterns = Patterns(shared)
    return PlanPolicy(
        base=base.commit,
        work=work,
        check=spec.check_,
        bisect=bisect,
        fail_fast=spec.fail_fast,
        as_finished=spec.tasks is not None and not spec.fail_fast,
        result=spec.result,
        shared=lambda path: bool(shared) and patterns.match(path),
    )


def grower(spec: PlanSpec, base: PlanBase) -> Grow:
    """Adds sub-plans below a leaf, by the rules of the plan."""
    return lambda tree, leaf, subplans: grow(
        tree,
        leaf,
        subplans,
        rules=spec.split.rules,
        digests=base.digests,
        tokens=base.tokens,
        goal=spec.goal,
    )
