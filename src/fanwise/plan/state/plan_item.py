"""The items of a run: a sub-plan, a merge, a sub-plan once more, a check, the result."""

from __future__ import annotations

from typing import Literal

import msgspec

from fanwise.plan.model.leaf_result import Change
from fanwise.plan.model.merge_result import Conflict, MergeStep
from fanwise.plan.model.node import FileNote, Node

Kind = Literal["leaf", "merge", "again", "check", "result"]
SUB_PLANS: tuple[Kind, ...] = ("leaf", "again")
FAN_OUT = "plan"
"""The fan-out of all items."""
LEAF_FAN_OUT = "sub-plan"
"""The fan-out inside a leaf that has a budget of its own."""


class PlanItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item. Which fields it has depends on its kind."""

    kind: Kind
    key: str
    of: str
    """A digest of everything that decides its outcome: a record with another digest is outdated."""
    leaf: Node | None = None
    """Of a leaf, and of one that is done again."""
    before: tuple[Change, ...] = ()
    """Of a leaf: the changes that it begins with."""
    at: str = ""
    """The commit that it begins from. Of a leaf: the base, to which `before` is added."""
    conflicts: tuple[Conflict, ...] = ()
    """Of a leaf that is done again: why."""
    changes: tuple[Change, ...] = ()
    """Of a merge: what is merged, in order."""
    on_top: tuple[Change, ...] = ()
    """Of a merge: what was made on a merged tree, and is put on it."""
    step: MergeStep | None = None
    """Of a result: the merge that it is of."""
    without: tuple[str, ...] = ()
    """Of a merge, a check: the leaves that are left out to see whether they are to blame."""
    left_out: tuple[FileNote, ...] = ()
    """Of a result: the leaves that are not in it, and why."""
