"""pass@k over repeats: how likely is it that at least one of k answers is right?

For one input with n scored repeats of which c pass, 1 - C(n-c, k) / C(n, k): the share of the
choices of k repeats that has a pass in it, which is without bias (Chen et al. 2021). The usual
1 - (1 - c/n)^k has a bias downwards. One estimate for each place in the matrix without its repeat,
averaged over inputs; inputs are independent, so the interval is that of `intervals.estimate`.

An input with fewer than k scored repeats says nothing of pass@k. It is counted in `too_few`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from fanwise.matrix.stats.data import (
    DEFAULTS,
    INPUT,
    REPEAT,
    AnalysisOptions,
    Scored,
    Spot,
    in_order,
    score_of,
    spot,
)
from fanwise.matrix.stats.intervals import Estimate, estimate


class PassAtK(msgspec.Struct, frozen=True):
    """pass@k at one place of the matrix (a model and a strategy, say), averaged over inputs."""

    axes: dict[str, str]
    scorer: str
    k: int
    estimate: Estimate
    """Its `units` are the inputs in it."""
    too_few: int
    """Inputs with fewer than k scored repeats, which are not in it."""
    unscored: int
    """Cells without a score, of all inputs."""


def pass_at_k(n: int, c: int, k: int) -> float:
    """Without bias, of n repeats of which c pass; k at most n."""
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_rates(
    cells: Iterable[Scored],
    scorer: str,
    *,
    ks: Sequence[int] | None = None,
    options: AnalysisOptions = DEFAULTS,
) -> list[PassAtK]:
    """pass@k for each place and each k; a score of at least `options.threshold` passes.

    Without `ks`: 1, 2, 4, 8 … up to the number of repeats, and that number.
    """
    ordered = in_order(cells)
    rates = []
    for place, group in _by_place(ordered).items():
        tries = _tries(group, scorer, options)
        unscored = len(group) - sum(map(len, tries.values()))
        for k in default_ks(max(map(len, tries.values()))) if ks is None else ks:
            enough = {name: found for name, found in tries.items() if len(found) >= k}
            by_input = {
                name: [pass_at_k(len(found), sum(found), k)] for name, found in enough.items()
            }
            rate = estimate(by_input, options=options)
            too_few = len(tries) - len(enough)
            rates.append(PassAtK(dict(place), scorer, k, rate, too_few, unscored))
    return rates


def default_ks(repeats: int) -> list[int]:
    """1, 2, 4, 8 … up to the number of repeats, and that number."""
    doubled = (1 << exponent for exponent in range(repeats.bit_length()))
    return sorted({*doubled, repeats} - {0})


def _by_place(ordered: Sequence[Scored]) -> dict[Spot, list[Scored]]:
    found: dict[Spot, list[Scored]] = {}
    for cell in ordered:
        found.setdefault(spot(cell.axes, [INPUT, REPEAT]), []).append(cell)
    return dict(sorted(found.items()))


def _tries(group: Sequence[Scored], scorer: str, options: AnalysisOptions) -> dict[str, list[bool]]:
    """By input, whether each scored repeat passes; an input without any has an empty list."""
    tries: dict[str, list[bool]] = {}
    for cell in group:
        found = tries.setdefault(cell.axes.get(INPUT, ""), [])
        score = score_of(cell, scorer, options.failed_as)
        if score is not None:
            found.append(score >= options.threshold)
    return tries
