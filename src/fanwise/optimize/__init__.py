"""Candidates for a faster program: checked in parallel, measured alone; a proven one wins."""

from fanwise.optimize.benchmark.speed import Speed
from fanwise.optimize.candidate import Candidate
from fanwise.optimize.checking.finding import Finding
from fanwise.optimize.differential.difference import Difference
from fanwise.optimize.optimizer import OptimizeResult, optimize, optimize_sync
from fanwise.optimize.verdicts import Verdict

__all__ = [
    "Candidate",
    "Difference",
    "Finding",
    "OptimizeResult",
    "Speed",
    "Verdict",
    "optimize",
    "optimize_sync",
]
