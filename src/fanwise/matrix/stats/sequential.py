"""Which contrasts are settled, so that their further repeats need not run.

To look after each round of repeats with a test made for one look, and to end at the first p < 0.05,
is wrong far more often than 5 % of the time. What is used here holds however often one looks:

- **A round** is one repeat of all inputs. A contrast is looked at when a round is complete, that is
  when all its planned cells have ended. Were it looked at in between, those that happened to
  be fast would decide, and the fast ones are not like the others.
- **Observations** are inputs: the mean difference of an input's pairs over the rounds so far, in
  [-1, 1]. Repeats of an input are not independent and are not counted as if they were.
- **Within a round** a betting confidence sequence (Waudby-Smith & Ramdas 2023, hedged capital with
  predictable plug-in bets): for each m, a gambler bets on "the mean is above m" at odds that are
  fair if it is m. Wealth is a non-negative martingale then, so by Ville's inequality it ever
  reaches 1/a with a probability of at most a, and each m at which it does is excluded. This holds
  for any distribution in [-1, 1] and any number of inputs: there is no normal approximation.
- **Over rounds** alpha is spent: round r has alpha / (r (r + 1)), in all at most alpha, whatever
  the dependence between rounds and however many are added later (a union bound).
- **Over contrasts** alpha is divided by their number (Bonferroni), so that it bounds the chance of
  *any* false decision among all contrasts, at any look.

A contrast is decided for the first or the second where the interval excludes 0. A decision, once
made, stays: it is the first round's that made it.

A test made for one look (`compare`) is too sure of a contrast that was ended this way: there the
verdict's interval is what can be relied on.

It is about inputs like these, as all of the analysis is. Pairs without both scores are left out
and counted; a score outside of 0 to 1 makes its contrast undecidable, and the note says so.

Rejected: group-sequential boundaries (Pocock, O'Brien-Fleming), which need normal scores and a
known number of looks; the empirical-Bernstein sequence, valid but wider at 20 to 200 inputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import combinations
from typing import Literal, NamedTuple

import msgspec

from fanwise.errors import UsageError
from fanwise.matrix.stats.data import (
    INPUT,
    REPEAT,
    Samples,
    Scored,
    Spot,
    in_order,
    mean,
    natural,
    score_of,
    spot,
)

ALPHA = 0.05
BOLDEST = 0.75
"""The largest share of what a gambler has that is bet: less than all, so that none is ruined."""
HALVINGS = 20
"""Of the range in which an interval's end is looked for: off by 2 / 2^20 at most, outwards."""

Axes = Mapping[str, str]
Decision = Literal["first", "second"]


class ContrastVerdict(msgspec.Struct, frozen=True):
    """What is known of a contrast, valid at every look."""

    axis: str
    first: str
    second: str
    scorer: str
    decision: Decision | None
    """Which is better; None: not settled."""
    rounds: int
    """Complete rounds that this is from: up to the one that settled it."""
    inputs: int
    """Inputs with at least one pair."""
    pairs: int
    unscored: int
    """Pairs of these rounds without both scores."""
    mean: float | None
    """First minus second."""
    low: float | None
    high: float | None
    alpha: float
    """This contrast's share, over all rounds."""
    note: str = ""


class _Contrast(NamedTuple):
    axis: str
    first: str
    second: str
    scorer: str


class _Planned(NamedTuple):
    """A pair of cells that is in the plan."""

    repeat: str
    unit: str
    first: Spot
    second: Spot


class _Look(NamedTuple):
    """A contrast after so many rounds."""

    differences: Samples
    unscored: int


def verdicts(
    cells: Iterable[Scored],
    planned: Sequence[Axes],
    axes: Sequence[str],
    scorers: Sequence[str],
    *,
    failed_as: float | None = 0.0,
) -> list[ContrastVerdict]:
    """Each contrast of these axes under these scorers, given the cells that have ended so far.

    `planned` has the axes of all cells of the matrix, ended or not: without it nobody knows which
    rounds are complete. Ask again when a round is; in between the answer is the same.
    """
    ended = {spot(cell.axes): cell for cell in in_order(cells)}
    contrasts = [
        (_Contrast(axis, *values, scorer), pairs)
        for axis in axes
        for values, pairs in planned_pairs(planned, axis).items()
        for scorer in scorers
    ]
    share = ALPHA / max(1, len(contrasts))
    return [
        _verdict(contrast, _looks(contrast, pairs, ended, failed_as), share)
        for contrast, pairs in contrasts
    ]


def needless(planned: Sequence[Axes], settled: Sequence[ContrastVerdict]) -> list[int]:
    """The places in `planned` whose cells need not run: all their contrasts were settled before.

    `settled` is what `verdicts` gave. A cell in no contrast is always needed.
    """
    last: dict[tuple[str, tuple[str, str]], float] = {}
    for each in settled:
        contrast = (each.axis, (each.first, each.second))
        rounds = math.inf if each.decision is None else each.rounds
        last[contrast] = max(last.get(contrast, 0), rounds)
    pairs = {axis: planned_pairs(planned, axis) for axis in {axis for axis, _ in last}}
    needed: set[Spot] = set()
    seen: set[Spot] = set()
    for (axis, values), rounds in last.items():
        for place, found in enumerate(_by_round(pairs[axis].get(values, []))):
            both = {side for pair in found for side in (pair.first, pair.second)}
            seen |= both
            if place < rounds:
                needed |= both
    spots = [spot(axes) for axes in planned]
    return [place for place, each in enumerate(spots) if each in seen and each not in needed]


def planned_pairs(planned: Sequence[Axes], axis: str) -> dict[tuple[str, str], list[_Planned]]:
    """The pairs of cells that agree on all axes but this one, by their two values."""
    if axis in (INPUT, REPEAT):
        raise UsageError(f"values of {axis!r} cannot be compared", "Name another axis")
    by_place: dict[Spot, dict[str, Spot]] = {}
    for axes in planned:
        if axis in axes:
            by_place.setdefault(spot(axes, [axis]), {})[axes[axis]] = spot(axes)
    found: dict[tuple[str, str], list[_Planned]] = {}
    for place in sorted(by_place):
        values, shared = by_place[place], dict(place)
        where = (shared.get(REPEAT, ""), shared.get(INPUT, ""))
        for both in combinations(sorted(values), 2):
            found.setdefault(both, []).append(_Planned(*where, *(values[each] for each in both)))
    return dict(sorted(found.items()))


def _by_round(pairs: Sequence[_Planned]) -> list[list[_Planned]]:
    rounds: dict[str, list[_Planned]] = {}
    for pair in pairs:
        rounds.setdefault(pair.repeat, []).append(pair)
    return [rounds[repeat] for repeat in sorted(rounds, key=natural)]


def _looks(
    contrast: _Contrast,
    pairs: Sequence[_Planned],
    ended: Mapping[Spot, Scored],
    failed_as: float | None,
) -> Iterator[_Look]:
    """The contrast after each of its complete rounds, up to the first that is not."""
    differences: Samples = {}
    unscored = 0
    for round_of_pairs in _by_round(pairs):
        for pair in round_of_pairs:
            if pair.first not in ended or pair.second not in ended:
                return
            one, two = (
                score_of(ended[each], contrast.scorer, failed_as)
                for each in (pair.first, pair.second)
            )
            if one is None or two is None:
                unscored += 1
            else:
                differences.setdefault(pair.unit, []).append(one - two)
        yield _Look({unit: list(found) for unit, found in differences.items()}, unscored)


def _verdict(contrast: _Contrast, looks: Iterable[_Look], alpha: float) -> ContrastVerdict:
    verdict = ContrastVerdict(
        *contrast, None, 0, 0, 0, 0, None, None, None, alpha, "no complete round"
    )
    for rounds, look in enumerate(looks, 1):
        verdict = _judge(contrast, look, rounds, alpha)
        if verdict.decision is not None:
            break
    return verdict


def _judge(contrast: _Contrast, look: _Look, rounds: int, alpha: float) -> ContrastVerdict:
    # In an order that has nothing to do with the scores.
    units = sorted(look.differences, key=lambda unit: sha256(f"0\0{unit}".encode()).digest())
    means = [mean(look.differences[unit]) for unit in units]
    pairs = sum(map(len, look.differences.values()))
    counts = (rounds, len(units), pairs, look.unscored)
    if not means:
        return ContrastVerdict(
            *contrast, None, *counts, None, None, None, alpha, "no pair has both scores"
        )
    if any(abs(each) > 1 for group in look.differences.values() for each in group):
        note = "a difference is larger than 1: scores are not from 0 to 1"
        return ContrastVerdict(*contrast, None, *counts, mean(means), None, None, alpha, note)
    low, high = confidence_sequence(means, spent(alpha, rounds))
    decision: Decision | None = "first" if low > 0 else "second" if high < 0 else None
    return ContrastVerdict(*contrast, decision, *counts, mean(means), low, high, alpha)


def spent(alpha: float, rounds: int) -> float:
    """What of alpha the look after that round has: 1/2, 1/6, 1/12 … in all never more than 1."""
    return alpha / (rounds * (rounds + 1))


def confidence_sequence(values: Sequence[float], alpha: float) -> tuple[float, float]:
    """Contains the mean of independent values in [-1, 1], after any number of them, but for alpha.

    The values in an order that has nothing to do with what they are.
    """
    bets = _bets(values, alpha)
    low = _lower_end(values, bets, alpha)
    high = -_lower_end([-value for value in values], bets, alpha)
    return (low, high) if low <= high else (high, low)


def _bets(values: Sequence[float], alpha: float) -> list[float]:
    """Each from the values before it: bold where these vary little, for as many as there are.

    With one value of variance 1, the largest, before the first: there is no spread to go by yet.
    """
    bets, total, squares = [], 0.0, 1.0
    for seen, value in enumerate(values, 1):
        bets.append(math.sqrt(2 * math.log(2 / alpha) * seen / (squares * len(values))))
        total += value
        squares += (value - total / (seen + 1)) ** 2
    return bets


def _lower_end(values: Sequence[float], bets: Sequence[float], alpha: float) -> float:
    """The largest m at which the gambler who bets on more gets rich. Wealth falls as m rises."""
    rich = math.log(2 / alpha)
    low, high = -1.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _gets(rich, values, bets, middle) else (low, middle)
    return low


def _gets(rich: float, values: Sequence[float], bets: Sequence[float], m: float) -> bool:
    """Whether the gambler against m is that rich at any time, in logarithms."""
    limit = BOLDEST / (1 + m)
    wealth = 0.0
    for value, bet in zip(values, bets, strict=True):
        wealth += math.log1p(min(bet, limit) * (value - m))
        if wealth >= rich:
            return True
    return False
