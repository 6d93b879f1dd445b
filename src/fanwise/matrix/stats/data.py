"""What the analysis of a matrix reads: scored cells, and the few questions it asks of them.

**Units.** Repeats of one input are not independent: a hard input is hard each time. What was
sampled are inputs, so all intervals and tests count inputs (`unit_axis`) and take all cells of one
input as one observation, the mean of its scores. Counting cells instead makes intervals too narrow
by up to the square root of the number of repeats. Where there is only one input, the repeats are
the sample, and what is said holds for that input alone.

**Missing scores.** If the strategy itself failed (its function raised, the answer did not match
its schema, the model refused), the cell scores `failed_as`: 0, unless the caller wants it left out.
If the provider or this machine failed, the cell was not run, or its scorer failed, nothing is known
of the answer: it is never taken for 0, but left out of means and counted beside them.

**Order.** The analysis sorts first, and sums exactly where it adds up cells: the order in which
cells ended changes no bit of the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any, Literal

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


INPUT = "input"
REPEAT = "repeat"

Fault = Literal["strategy", "provider"]

Spot = tuple[tuple[str, str], ...]
"""Where a cell is in the matrix: its axes and values, sorted."""
Samples = dict[str, list[float]]
"""Scores by unit, in order."""


class CellCalls(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the calls for a cell's answer took and cost, in every form that a cell has."""

    calls: int = 0
    """Attempts of model calls, failed ones too."""
    cached: int = 0
    """Calls that the cache of replies answered instead: then `ran_s` is no latency."""
    queued_s: float = 0.0
    ran_s: float = 0.0
    backoff_s: float = 0.0
    first_token_s: float | None = None
    """The shortest of its calls."""
    lag_s: float = 0.0
    """How late this process was: so much of `ran_s` may be its own, and not the model's."""
    in_flight: int = 0
    """The most calls that this process had in flight when it was late."""
    input_tokens: int | None = 0
    """None: nobody can know."""
    output_tokens: int | None = 0
    usd: float | None = None
    """None: that of at least one attempt is unknown."""
    usd_known: float = 0.0
    """Of the attempts of which it is known."""

    @property
    def measures(self) -> dict[str, Any]:
        """All of these, by name."""
        return dict(zip(CellCalls.__struct_fields__, _measures(self), strict=True))


_measures = attrgetter(*CellCalls.__struct_fields__)


class Scored(CellCalls, frozen=True, gc=False):
    """One cell of a matrix with its scores, times and costs; `waiting`: it has not run."""

    key: str
    axes: dict[str, str]
    """Model, strategy, input (its id), repeat, and whatever other axes there are."""
    status: Literal["done", "failed", "waiting"]
    scores: dict[str, float | None] = {}
    """By scorer; None: the scorer failed."""
    error: str | None = None
    fault: Fault | None = None
    """Of a cell that failed: its strategy's, or that of the provider or this machine."""


def spot(axes: Mapping[str, str], without: Iterable[str] = ()) -> Spot:
    """The axes as something that can be compared and sorted, some left out."""
    left_out = set(without)
    return tuple(sorted(each for each in axes.items() if each[0] not in left_out))


def in_order(cells: Iterable[Scored]) -> list[Scored]:
    """The cells, sorted by their place; two in one place would be counted twice."""
    found = list(cells)
    names = axis_names(found)
    ordered = sorted(found, key=lambda cell: ([cell.axes.get(n, "") for n in names], cell.key))
    for one, two in pairwise(ordered):
        if one.axes == two.axes:
            raise UsageError(
                f"cells {one.key!r} and {two.key!r} have the same axes: {dict(spot(one.axes))}",
                "Leave out those of an earlier version of the matrix",
            )
    return ordered


def axis_names(cells: Iterable[Scored]) -> list[str]:
    return sorted({name for cell in cells for name in cell.axes})


def axis_values(cells: Iterable[Scored], axis: str) -> list[str]:
    """The values of an axis, sorted; a cell without that axis has the value ""."""
    return sorted({cell.axes.get(axis, "") for cell in cells})


def compared_axes(cells: Iterable[Scored]) -> list[str]:
    """The axes whose values are worth comparing: all but inputs and repeats, which are samples."""
    return [name for name in axis_names(cells) if name not in (INPUT, REPEAT)]


def scorer_names(cells: Iterable[Scored]) -> list[str]:
    return sorted({name for cell in cells for name in cell.scores})


def score_of(cell: Scored, scorer: str, failed_as: float | None = 0.0) -> float | None:
    """Its score; None where there is none, which a score that is no number counts as."""
    if cell.status == "failed":
        return failed_as if cell.fault == "strategy" else None
    score = cell.scores.get(scorer)
    return score if score is not None and math.isfinite(score) else None


def unit_axis(cells: Iterable[Scored]) -> str:
    """What was sampled: inputs; where there is one input only, its repeats."""
    return INPUT if len({cell.axes.get(INPUT, "") for cell in cells}) > 1 else REPEAT


def samples(
    cells: Sequence[Scored], scorer: str, unit: str, failed_as: float | None = 0.0
) -> Samples:
    found: Samples = {}
    for cell in cells:
        score = score_of(cell, scorer, failed_as)
        if score is not None:
            found.setdefault(cell.axes.get(unit, ""), []).append(score)
    return dict(sorted(found.items()))


def mean(values: Sequence[float]) -> float:
    """Summed exactly, so that the order does not matter; within the values' own range."""
    if len(values) == 1:
        return values[0]
    exact = math.fsum(values) / len(values)
    return min(max(exact, min(values)), max(values))


def natural(value: str) -> tuple[int, int, str]:
    """Sorts "2" before "10", and numbers before words."""
    return (0, int(value), "") if value.isdecimal() else (1, 0, value)
