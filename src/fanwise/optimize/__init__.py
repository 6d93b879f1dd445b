"""Candidates for a faster program: checked in parallel, measured alone; a proven one wins."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fanwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from fanwise.optimize.api import OptimizeResult, optimize, optimize_sync
    from fanwise.optimize.benchmark.sequential import Speed
    from fanwise.optimize.candidates.candidate import Candidate
    from fanwise.optimize.checking.static_checks import Finding
    from fanwise.optimize.differential.compare import Difference
    from fanwise.optimize.verdict import CandidateVerdict

__all__ = [
    "Candidate",
    "CandidateVerdict",
    "Difference",
    "Finding",
    "OptimizeResult",
    "Speed",
    "optimize",
    "optimize_sync",
]

_HOMES = {
    "api": ("OptimizeResult", "optimize", "optimize_sync"),
    "benchmark.sequential": ("Speed",),
    "candidates.candidate": ("Candidate",),
    "checking.static_checks": ("Finding",),
    "differential.compare": ("Difference",),
    "verdict": ("CandidateVerdict",),
}

if not TYPE_CHECKING:  # else every misspelt name would be an `object` to mypy
    __getattr__ = lazy_names(__name__, _HOMES)


class _Optimize(ModuleType):
    """Lets `from fanwise import optimize` be called, whether it finds the function or this package.

    Whoever imports a module of this package makes it the attribute `optimize` of `fanwise`.
    """

    def __call__(self, *args: Any, **options: Any) -> Any:
        from fanwise.optimize.api import optimize

        return optimize(*args, **options)


sys.modules[__name__].__class__ = _Optimize
