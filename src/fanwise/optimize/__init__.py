"""Candidates for a faster program: checked in parallel, measured alone; a proven one wins."""

import sys
from types import ModuleType
from typing import Any

from fanwise.optimize.api import OptimizeResult, optimize, optimize_sync
from fanwise.optimize.benchmark.sequential import Speed
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.checking.static_checks import Finding
from fanwise.optimize.differential.compare import Difference
from fanwise.optimize.verdict import Verdict

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


class _Optimize(ModuleType):
    """Lets `from fanwise import optimize` be called, whether it finds the function or this package.

    Whoever imports a module of this package makes it the attribute `optimize` of `fanwise`.
    """

    def __call__(self, *args: Any, **options: Any) -> Any:
        return optimize(*args, **options)


sys.modules[__name__].__class__ = _Optimize
