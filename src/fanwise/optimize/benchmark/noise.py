"""How steadily this machine measures: the original against itself."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from statistics import NormalDist, median

import msgspec

from fanwise.core.counts import many
from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.benchmark.compare import measure_pair
from fanwise.optimize.benchmark.pair import Pair
from fanwise.optimize.benchmark.sequential import EARLY, FIRST, LOWER_SHARE, Accept
from fanwise.optimize.benchmark.statistics import place
from fanwise.optimize.benchmark.stopwatch import Bench, NoFigure, Stopwatch
from fanwise.optimize.differential.child_program import Where


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """How far measurements of the same code are apart."""

    spread: float
    """How far the ratio of a pair typically is from 1: 0.03 is 3 %."""
    smallest_gain: float
    """What `speedup` can be told from no gain within the budget, about: 1.04."""
    pairs: int
    pair_s: float = 0.0
    """What one pair takes, with the start of its processes."""
    baseline_s: float
    """The median of the original."""
    pinned: bool
    """Whether the processes were kept on one core."""
    spent_s: float
    warnings: tuple[str, ...] = ()

    @property
    def decision_s(self) -> float:
        """What the first decision on a candidate takes, unless it is overwhelming."""
        return FIRST * self.pair_s

    def announcement(self, candidates: int, budget_s: float) -> str:
        """What is said before candidates are measured: how long that will take."""
        most = f"at most {budget_s:g} s"
        if EARLY[0] * self.pair_s > budget_s:
            need = f"{EARLY[0]} pairs of runs take about {EARLY[0] * self.pair_s:.0f} s"
            return f"nothing is measured: {need}, and a candidate has {most}"
        each = f"about {self.decision_s:.0f} s for each candidate ({FIRST} pairs of runs), {most}"
        return f"{many(candidates, 'candidate')} to measure: a decision takes {each}"


async def measure_noise(
    baseline: Where,
    bench: Bench,
    settings: Settings,
    *,
    accept: Accept = Accept(),  # noqa: B008
    budget_s: float = 60.0,
    seed: int = 0,
    pin: bool = True,
) -> Noise:
    """Measure the original against itself for a part of what a comparison may take."""
    begun = time.monotonic()
    meter = Stopwatch(bench, settings, pin=pin)
    await meter.calibrate(baseline)
    order = random.Random(f"noise {seed}")
    pairs: list[Pair] = []
    while len(pairs) < FIRST and (not pairs or time.monotonic() - begun < budget_s / 2):
        pair = await measure_pair(meter, baseline, baseline, order, order.random() < 0.5)
        if isinstance(pair, NoFigure):
            raise meter.failed(pair)
        pairs.append(pair)
    return noise_of(pairs, accept, budget_s, time.monotonic() - begun)


def noise_of(pairs: Sequence[Pair], accept: Accept, budget_s: float, spent_s: float) -> Noise:
    """The noise that these pairs show. PURE."""
    spread = math.exp(median(abs(math.log(pair.ratio)) for pair in pairs)) - 1
    pair_s = spent_s / len(pairs)
    fit = max(FIRST, int(budget_s / pair_s))
    smallest = smallest_gain(spread, fit, accept)
    return Noise(
        spread=spread,
        smallest_gain=smallest,
        pairs=len(pairs),
        pair_s=pair_s,
        baseline_s=median(pair.baseline.seconds for pair in pairs),
        pinned=all(pair.baseline.pinned for pair in pairs),
        spent_s=spent_s,
        warnings=tuple(_warnings(pair_s, smallest, accept, budget_s)),
    )


def smallest_gain(spread: float, pairs: int, accept: Accept) -> float:
    """What an interval of so many pairs can tell from 1, if their noise is bell-shaped.

    `spread` is the median distance, so two thirds of the standard deviation. The end of the
    interval is the value at `place`; its quantile of the bell says how far that is from the middle.
    """
    end = place(pairs, (1 - accept.confidence) * LOWER_SHARE / 12)
    quantile = max(end, 0.5) / pairs
    return math.exp(math.log1p(spread) / 0.6745 * -NormalDist().inv_cdf(min(quantile, 0.5)))


def _warnings(pair_s: float, smallest: float, accept: Accept, budget_s: float) -> list[str]:
    found = []
    if FIRST * pair_s > budget_s:
        few = EARLY[0] * pair_s <= budget_s
        told = "only overwhelming gains can be decided" if few else "nothing can be decided"
        found.append(
            f"{FIRST} pairs take about {FIRST * pair_s:.0f} s, and the budget of a comparison is "
            f"{budget_s:g} s: {told}"
        )
    if smallest > accept.speedup:
        found.append(
            f"this machine tells gains from {smallest:.2f} times on within {budget_s:g} s, and "
            f"{accept.speedup:g} times is asked for: smaller ones stay undecided"
        )
    return found
