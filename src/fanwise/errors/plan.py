"""Errors of `plan`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fanwise.errors.base import FanwiseError


class WorkFailed(FanwiseError):
    """An attempt at a sub-plan failed. `said` is the end of its output.

    `cut_off`: it ran out of time. `final`: another attempt would fail in the same way.
    """

    def __init__(
        self, reason: str, said: str = "", *, cut_off: bool = False, final: bool = False
    ) -> None:
        self.reason = reason
        self.said = said
        self.cut_off = cut_off
        self.final = final
        super().__init__(reason)


class SubPlanFailed(FanwiseError):
    """A sub-plan was given up. `tries` are its attempts; `kept` is where its edits are."""

    def __init__(
        self, leaf: str, title: str, tries: Sequence[Any], *, kept: str | None = None
    ) -> None:
        self.leaf = leaf
        self.title = title
        self.tries = tuple(tries)
        self.kept = kept
        last = self.tries[-1]
        times = "" if len(self.tries) == 1 else f" (try {len(self.tries)})"
        edits = f"Its edits are in {kept}. " if kept else ""
        super().__init__(
            f"{title}: {last.stage} failed{times}: {last.reason}",
            f"{edits}`fanwise show` has its output",
        )


class BadSubPlans(FanwiseError):
    """A sub-plan returned invalid sub-plans. `reason` says why, for the next attempt."""

    def __init__(self, leaf: str, title: str, reason: str) -> None:
        self.leaf = leaf
        self.title = title
        self.reason = reason
        super().__init__(f"{title}: its sub-plans cannot be used: {reason}")
