"""Plans: a code base split into sub-plans, run side by side, and what they changed merged.

The split by itself is in `fanwise.plan.split`. Names are imported when they are used: whoever only
splits does not wait for all the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fanwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from fanwise.plan.api import PlanResult, run_plan, run_plan_sync
    from fanwise.plan.model.leaf_result import Change, EditRequest, SubPlan, Try
    from fanwise.plan.model.merge_result import BrokenName, Conflict, MergeCheck, PublishedResult
    from fanwise.plan.model.node import Node, Scorecard, Split, Tree
    from fanwise.plan.state.plan_state import LeafState, PlanState
    from fanwise.plan.work.by_call import Work

__all__ = [
    "BrokenName",
    "Change",
    "Conflict",
    "EditRequest",
    "LeafState",
    "MergeCheck",
    "Node",
    "PlanResult",
    "PlanState",
    "PublishedResult",
    "Scorecard",
    "Split",
    "SubPlan",
    "Tree",
    "Try",
    "Work",
    "run_plan",
    "run_plan_sync",
]

_HOMES = {
    "model.leaf_result": ("Change", "EditRequest", "SubPlan", "Try"),
    "model.merge_result": ("BrokenName", "MergeCheck", "Conflict", "PublishedResult"),
    "model.node": ("Node", "Scorecard", "Split", "Tree"),
    "api": ("PlanResult", "run_plan", "run_plan_sync"),
    "state.plan_state": ("LeafState", "PlanState"),
    "work.by_call": ("Work",),
}


if not TYPE_CHECKING:  # else every misspelt name would be an `object` to mypy
    __getattr__ = lazy_names(__name__, _HOMES)
