"""What the results of all entry points have in common."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from fanwise.core.stats import Stats


class RunResult(Protocol):
    """The result of `fan_out`, `sample`, `run_matrix`, `run_workflow`, `run_plan`, `optimize` or
    `run_file`."""

    @property
    def ok(self) -> bool:
        """Whether everything that was asked for succeeded. What was not judged counts as no."""

    @property
    def run_id(self) -> str | None:
        """The durable run that recorded it; None: it was in memory."""

    @property
    def failures(self) -> Collection[object]:
        """What failed, in the system's own terms: outcomes, samples, cells, steps …"""

    @property
    def stats(self) -> Stats:
        """Peak by cap, makespan and efficiency."""

    def require(self) -> RunResult:
        """Return the result, or raise `NotOk` if it is not ok."""
