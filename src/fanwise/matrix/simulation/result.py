"""What goes into a simulation, and what comes out of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from fanwise.core.retry import Retry
from fanwise.matrix.estimate.demand import CellDemand
from fanwise.matrix.simulation.world import SimulatedTotals
from fanwise.matrix.spec.compile import Compiled


class SimulationPlan(msgspec.Struct, frozen=True):
    """A matrix that is to be simulated."""

    compiled: Compiled
    demands: Sequence[CellDemand]
    """In the order of dispatch."""
    retry: Retry
    judge_retry: Retry
    timeout: float | None


class SimulationRun(msgspec.Struct, frozen=True):
    """One simulation."""

    seed: int
    seconds: float
    totals: Mapping[str, SimulatedTotals]
    """By model."""
    failures: Sequence[str] = ()
    """What the cells and scores that failed said."""

    @property
    def work_s(self) -> float:
        """All calls, one after another."""
        return sum(each.seconds for each in self.totals.values())
