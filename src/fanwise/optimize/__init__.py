"""Candidates for a faster program: checked in parallel, measured alone; a proven one wins."""

from fanwise.optimize.api import OptimizeResult, optimize, optimize_sync
from fanwise.optimize.benchmark.speed import Speed
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.checking.finding import Finding
from fanwise.optimize.differential.difference import Difference
from fanwise.optimize.verdicts.verdict import Verdict

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
