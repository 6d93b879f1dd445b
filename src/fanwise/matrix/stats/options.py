"""How the analysis is made: one value that goes through all of it, so that all parts agree."""

from __future__ import annotations

import msgspec

from fanwise.errors import UsageError


class AnalysisOptions(msgspec.Struct, frozen=True):
    """The choices of an analysis; the same cells and options give the same result, to the bit."""

    confidence: float = 0.95
    failed_as: float | None = 0.0
    """The score of a cell whose strategy failed; None: it is left out, and counted as missing.
    What failed for reasons outside the strategy is always left out."""
    threshold: float = 1.0
    """A score of at least that passes."""

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise UsageError(f"confidence is {self.confidence!r}", "Give one between 0 and 1")


DEFAULTS = AnalysisOptions()


def analysis_options(failed_as: object) -> AnalysisOptions:
    """As a file or the command line says it: 0, or `missing`."""
    return AnalysisOptions(failed_as=None if failed_as == "missing" else 0.0)
