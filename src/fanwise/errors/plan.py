"""What can go wrong with sub-plans."""

from __future__ import annotations

from fanwise.errors.base import FanwiseError


class BadSubPlans(FanwiseError):
    """What a sub-plan returned cannot be sub-plans of it; `reason` says why, for the next try."""

    def __init__(self, leaf: str, title: str, reason: str) -> None:
        self.leaf = leaf
        self.title = title
        self.reason = reason
        super().__init__(f"{title}: its sub-plans cannot be used: {reason}")
