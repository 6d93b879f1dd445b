"""A mean with its confidence interval, clustered by input.

Which method, and why:

- **Wilson** for scores of 0 and 1, one for each input: right in coverage where the usual
  ± 1.96 standard errors is not, at few inputs and near 0 and 1 (Brown, Cai & DasGupta 2001).
- **Bootstrap over inputs** for everything else. Inputs are drawn with replacement, each with all
  of its cells, so that what repeats have in common stays together. Of the bootstrap's intervals
  the bias-corrected and accelerated one (BCa, Efron 1987): it allows for skewed scores; the plain
  percentile interval is there to be asked for. For both the mean of inputs' means is the estimate:
  each input weighs the same, however many of its repeats were scored.
- Where all inputs have the same mean the bootstrap sees no spread and would give an interval of no
  width: 1.00 to 1.00 after three right answers. Of 0s and 1s then Wilson, counting inputs and not
  cells, as if repeats added nothing: wider than needed, never too narrow. Of other scores, none.

Below `FEW` inputs a bootstrap's interval is too narrow (that of the mean by about the factor
√(1 - 1/n), and normal instead of t quantiles), and the estimate's note says so.

Rejected: the t-interval with cluster-robust errors, which leaves [0, 1] and is symmetric.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import msgspec

from fanwise.errors import UsageError
from fanwise.matrix.stats.data import INPUT, mean
from fanwise.matrix.stats.options import DEFAULTS, AnalysisOptions
from fanwise.matrix.stats.resample import bootstrap_means

if TYPE_CHECKING:
    from fanwise.matrix.stats.resample import Floats

FEW = 10
NORMAL = NormalDist()

Method = Literal["wilson", "bca", "percentile", "tango", "paired-z", "none"]


class Estimate(msgspec.Struct, frozen=True):
    """A number with its interval. None is "cannot be said", and the note says why."""

    value: float | None
    low: float | None
    high: float | None
    method: Method
    confidence: float
    n: int
    """Scores in it."""
    units: int
    """Independent ones: inputs, or repeats of the only input."""
    unit: str = INPUT
    note: str = ""


def wilson(successes: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a proportion. `successes` may be an effective number."""
    if n <= 0:
        raise UsageError(f"a proportion of {n} has no interval", "Give at least one")
    p, z = successes / n, NORMAL.inv_cdf((1 + confidence) / 2)
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, min(middle - half, p)), min(1.0, max(middle + half, p))


def estimate(
    by_unit: Mapping[str, Sequence[float]],
    *,
    unit: str = INPUT,
    options: AnalysisOptions = DEFAULTS,
) -> Estimate:
    """The mean of units' means with its interval, by the method that fits the scores.

    `by_unit` has the scores of each input (or repeat); a unit without scores is left out.
    """
    confidence = options.confidence
    groups = [by_unit[name] for name in sorted(by_unit) if by_unit[name]]
    means = [mean(group) for group in groups]
    n, units = sum(map(len, groups)), len(groups)

    def give(low: float | None, high: float | None, method: Method, note: str = "") -> Estimate:
        value = mean(means) if means else None
        return Estimate(value, low, high, method, confidence, n, units, unit, note)

    if not means:
        return give(None, None, "none", "no scores")
    binary = is_binary(groups)
    if binary and n == units:
        return give(*wilson(math.fsum(means), units, confidence), "wilson")
    if min(means) == max(means) and binary:
        note = f"each {unit} scores the same: repeats are not counted"
        return give(*wilson(math.fsum(means), units, confidence), "wilson", note)
    if units < 2:
        return give(None, None, "none", f"one {unit} has no spread")
    if min(means) == max(means):
        return give(None, None, "none", f"each {unit} scores the same")
    low, high = bootstrap_interval(means, options)
    note = f"only {units} of {unit}: likely too narrow" if units < FEW else ""
    return give(low, high, options.bootstrap, note)


def is_binary(groups: Iterable[Sequence[float]]) -> bool:
    return all(score in (0, 1) for group in groups for score in group)


def bootstrap_interval(
    values: Sequence[float], options: AnalysisOptions = DEFAULTS
) -> tuple[float, float]:
    """The bootstrap's interval for the mean of independent values, widened to have that mean."""
    import numpy as np

    centre = mean(values)
    means = bootstrap_means(values, options.resamples, options.seed)
    tails = ((1 - options.confidence) / 2, (1 + options.confidence) / 2)
    if options.bootstrap == "bca":
        tails = _bca_tails(values, means, centre, tails)
    low, high = (float(each) for each in np.quantile(means, tails))
    # A mean of resampled values may be rounded past the least or the largest of them.
    least, most = min(values), max(values)
    return max(least, min(low, centre)), min(most, max(high, centre))


def _bca_tails(
    values: Sequence[float], means: Floats, centre: float, tails: tuple[float, float]
) -> tuple[float, float]:
    """Which quantiles of the bootstrap to take, for bias (z0) and skewness (acceleration)."""
    # What differs by rounding only is neither above nor below.
    tie = 1e-12 * max(map(abs, values))
    below = float((means < centre - tie).mean() + (means <= centre + tie).mean()) / 2
    spread = max(abs(value - centre) for value in values)
    if not 0 < below < 1 or not spread:
        return tails
    off = [(value - centre) / spread for value in values]
    squares = math.fsum(each**2 for each in off)
    acceleration = math.fsum(each**3 for each in off) / (6 * squares**1.5)
    z0 = NORMAL.inv_cdf(below)

    def adjusted(tail: float) -> float:
        z = z0 + NORMAL.inv_cdf(tail)
        room = 1 - acceleration * z
        return NORMAL.cdf(z0 + z / room) if room > 0 else tail

    return adjusted(tails[0]), adjusted(tails[1])
