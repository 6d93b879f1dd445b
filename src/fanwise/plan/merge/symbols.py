"""The symbol gate."""

from __future__ import annotations

from collections.abc import Sequence

from fanwise.plan.change import Change
from fanwise.plan.merge.merged import Broken
from fanwise.workspaces.git import Git


def broken(git: Git, base: str, tree: str, changes: Sequence[Change]) -> tuple[Broken, ...]:
    """Return the names that one leaf took away and another began to use."""
    return ()
