"""Intervals of paired ratios, and when to stop: against brute force and simulated noise."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.optimize.benchmark.sequential import FIRST, Accept, Looks
from fanwise.optimize.benchmark.statistics import interval, median, place
from tests.profiles import examples

Rng = numpy.random.Generator
Array = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.float64]]

PAIRS = 60
"""What a budget of a minute allows, about."""
positive = st.floats(0.01, 100)


# -- intervals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [9, 15, 31, 61])
@pytest.mark.parametrize("error", [0.05, 0.01])
def test_the_ends_are_those_of_a_bootstrap_or_farther_out(n: int, error: float) -> None:
    """Against one that is drawn. An odd number, so that a median is one of the values."""
    rng = numpy.random.default_rng(n)
    values = numpy.sort(rng.lognormal(0, 0.3, n))
    drawn = numpy.median(rng.choice(values, (40_000, n)), axis=1)
    seen = interval(list(values), error, error)
    low, high = numpy.quantile(drawn, [error, 1 - error], method="inverted_cdf")
    assert seen.low <= low
    assert seen.high >= high
    place_of_low = int(numpy.searchsorted(values, low)) + 1
    assert place_of_low - place(n, error) <= 1 + n // 12, "much wider than it need be"


@pytest.mark.parametrize("n", [8, 12, 18, 27, 40, 60, 1_500])
@pytest.mark.parametrize("error", [0.05, 0.005, 0.0008])
def test_an_end_is_wrong_no_more_often_than_it_says_whatever_the_distribution(
    n: int, error: float
) -> None:
    """The number of values below the true median is binomial: all cases, without drawing."""
    k = place(n, error)
    wrong = sum(math.comb(n, i) for i in range(k)) / 2**n
    assert wrong <= error
    if k:
        assert place(n, error / 10) <= k


def test_with_too_few_pairs_nothing_is_known() -> None:
    seen = interval([1.3, 1.31, 1.32], 0.005, 0.02)
    assert (seen.low, seen.ratio, seen.high) == (0.0, 1.31, math.inf)


@given(st.lists(positive, min_size=1, max_size=80), st.sampled_from([0.05, 0.005]))
def test_the_median_is_between_its_ends_and_mirrors_when_the_sides_change(
    ratios: list[float], error: float
) -> None:
    seen = interval(ratios, error, error)
    other = interval([1 / ratio for ratio in ratios], error, error)
    assert seen.low <= seen.ratio * (1 + 1e-12)
    assert seen.ratio <= seen.high * (1 + 1e-12)
    assert other.ratio == pytest.approx(1 / seen.ratio)
    if seen.low:
        assert other.high == pytest.approx(1 / seen.low)


@given(st.lists(positive, min_size=9, max_size=60), positive)
def test_one_wild_pair_moves_the_median_by_one_place(ratios: list[float], wild: float) -> None:
    ordered, moved = sorted(ratios), median([*ratios[1:], wild])
    assert ordered[(len(ordered) - 1) // 2 - 1] <= moved * (1 + 1e-12)
    assert moved <= ordered[len(ordered) // 2 + 1] * (1 + 1e-12)


# -- noise ---------------------------------------------------------------------------------------
# Each gives log times of one process after the other: rows are series.


def _smooth(rng: Rng, size: tuple[int, int]) -> Array:
    return rng.normal(0, 0.03, size)


def _noisy(rng: Rng, size: tuple[int, int]) -> Array:
    return rng.normal(0, 0.4, size)


def _heavy(rng: Rng, size: tuple[int, int]) -> Array:
    return 0.02 * rng.standard_t(1.5, size)


def _bursts(rng: Rng, size: tuple[int, int]) -> Array:
    """Now and then somebody else has the core."""
    return rng.normal(0, 0.02, size) + (rng.random(size) < 0.15) * rng.exponential(1.0, size)


def _drifting(rng: Rng, size: tuple[int, int]) -> Array:
    drift = numpy.linspace(0, 1, size[1]) * rng.normal(0, 0.5, (size[0], 1))
    return rng.normal(0, 0.03, size) + drift


def _wandering(rng: Rng, size: tuple[int, int]) -> Array:
    """Each is much like the one before."""
    steps: Array = numpy.cumsum(rng.normal(0, 0.05, size), axis=1)
    return steps + rng.normal(0, 0.02, size)


def _first_is_slow(rng: Rng, size: tuple[int, int]) -> Array:
    """Whoever goes first in a pair pays for cold caches."""
    times = rng.normal(0, 0.03, size)
    times[:, ::2] += 0.1
    return times


def _two_levels(rng: Rng, size: tuple[int, int]) -> Array:
    """A layout of memory is good or bad, by chance, for a process."""
    return rng.normal(0, 0.005, size) + 0.12 * (rng.random(size) < 0.5)


def _coarse(rng: Rng, size: tuple[int, int]) -> Array:
    """A clock that ticks in tenths of what is measured."""
    times: Array = numpy.round(numpy.exp(rng.normal(0, 0.15, size)), 1).clip(0.1)
    return numpy.log(times)


NOISES: list[Callable[[Rng, tuple[int, int]], Array]] = [
    _smooth, _noisy, _heavy, _bursts, _drifting, _wandering, _first_is_slow, _two_levels, _coarse,
]  # fmt: skip


def _ratios(rng: Rng, noise: Callable[[Rng, tuple[int, int]], Array], many: int, gain: float):  # type: ignore[no-untyped-def]
    """Pairs in blocks of ABBA or BAAB, as the runner makes them."""
    times = noise(rng, (many, 2 * PAIRS))
    first, second = times[:, ::2], times[:, 1::2]
    block = rng.random((many, PAIRS // 2)) < 0.5
    baseline_first = numpy.empty((many, PAIRS), dtype=bool)
    baseline_first[:, ::2], baseline_first[:, 1::2] = block, ~block
    return gain * numpy.exp(numpy.where(baseline_first, first - second, second - first))


def _decide(ratios: list[float], accept: Accept) -> tuple[str, int]:
    looks = Looks(accept)
    for n in range(1, len(ratios) + 1):
        decision = looks.look(ratios[:n])
        if decision != "undecided":
            return decision, n
    return looks.last(ratios), len(ratios)


def _share(noise: Callable[[Rng, tuple[int, int]], Array], many: int, gain: float) -> float:
    rows = _ratios(numpy.random.default_rng(7), noise, many, gain).tolist()
    return sum(_decide(row, Accept())[0] == "accept" for row in rows) / many


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.__name__[1:])
def test_the_same_code_is_accepted_in_one_of_a_hundred_comparisons_at_most(
    noise: Callable[[Rng, tuple[int, int]], Array],
) -> None:
    assert _share(noise, 2_000, 1.0) <= 0.01


@pytest.mark.parametrize("noise", [_smooth, _noisy, _heavy, _two_levels], ids=lambda n: n.__name__)
def test_a_gain_just_below_what_is_asked_for_is_accepted_as_rarely(
    noise: Callable[[Rng, tuple[int, int]], Array],
) -> None:
    """The hard case: here a look without a correction accepts in several of a hundred."""
    assert _share(noise, 2_000, 1.0499) <= 0.01


REALISTIC = [_smooth, _heavy, _bursts, _drifting, _wandering, _first_is_slow, _two_levels]


@pytest.mark.parametrize("noise", REALISTIC, ids=lambda noise: noise.__name__[1:])
def test_a_gain_of_three_tenths_is_nearly_always_accepted_within_the_budget(
    noise: Callable[[Rng, tuple[int, int]], Array],
) -> None:
    assert _share(noise, 500, 1.3) >= 0.99


def test_a_clear_case_is_decided_at_the_first_look() -> None:
    assert _decide([1.3] * 60, Accept()) == ("accept", FIRST)
    assert _decide([1.0] * 60, Accept()) == ("reject", FIRST)


def test_what_stands_exactly_at_the_border_stays_undecided() -> None:
    rows = _ratios(numpy.random.default_rng(3), _smooth, 200, 1.05).tolist()
    decisions = [_decide(row, Accept())[0] for row in rows]
    assert decisions.count("undecided") >= 180


@examples(0.5)
@given(st.floats(0.5, 0.999), st.lists(positive, min_size=8, max_size=40))
def test_all_looks_together_have_no_more_than_the_error_of_one(
    confidence: float, ratios: list[float]
) -> None:
    looks = Looks(Accept(confidence=confidence))
    spent = [looks._errors(k) for k in range(1, 2_000)]
    assert sum(low + high for low, high in spent) <= 1 - confidence
    assert sum(low for low, _ in spent) <= (1 - confidence) / 5
    looks.last(ratios)
    assert looks.interval(ratios).ratio == median(ratios)
