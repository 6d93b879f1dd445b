"""TEMPORARY until plan/result.py is there."""

from __future__ import annotations

from fanwise.plan.case import Case
from fanwise.plan.driver.item import Item
from fanwise.plan.merge.merged import Result


def leave(case: Case, item: Item) -> Result:
    branch = f"fanwise/plan-{case.tree.root.id[:12]}"
    case.git("update-ref", f"refs/heads/{branch}", item.at)
    return Result(commit=item.at, branch=branch, leaves=item.leaves, left_out=item.left_out)
