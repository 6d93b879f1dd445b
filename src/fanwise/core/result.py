"""What every entry point gives back, whichever system it is of."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from fanwise.core.stats import Stats


class RunResult(Protocol):
    """The result of `fan_out`, `sample`, `run_matrix`, `run_workflow`, `run_plan`, `optimize` or
    `run_file`."""

    @property
    def ok(self) -> bool:
        """Whether everything that was asked for succeeded. What was not judged did not."""

    @property
    def run_id(self) -> str | None:
        """The durable run that has it; None: it was in memory."""

    @property
    def failures(self) -> Collection[object]:
        """What failed, in the terms of the system: outcomes, samples, cells, steps …"""

    @property
    def stats(self) -> Stats:
        """Peak by cap, makespan and efficiency."""

    def require(self) -> RunResult:
        """The result itself; `NotOk` if it is not ok."""
