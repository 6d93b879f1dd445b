"""What holds of all cells: random matrices, with failures and missing scores."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fanwise.matrix.stats.compare import compare, holm
from fanwise.matrix.stats.data import AnalysisOptions, Scored
from fanwise.matrix.stats.intervals import estimate, wilson
from fanwise.matrix.stats.paired import paired_p, tango
from fanwise.matrix.stats.pass_at_k import pass_at_k, pass_rates
from fanwise.matrix.stats.sequential import confidence_sequence, verdicts
from fanwise.matrix.stats.summary import summarize
from tests.matrix.support import places, scored
from tests.profiles import examples

SOME = examples(0.5)

confidences = st.floats(0.5, 0.999)
scores = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1, width=32))
counts = st.integers(0, 60)


@st.composite
def matrices(draw: st.DrawFn) -> list[Scored]:
    shape = {
        "models": ("a", "b", "c")[: draw(st.integers(1, 3))],
        "strategies": ("s", "t")[: draw(st.integers(1, 2))],
        "inputs": draw(st.integers(1, 5)),
        "repeats": draw(st.integers(1, 3)),
    }
    planned = places(**shape)  # type: ignore[arg-type]
    kind = draw(st.sampled_from([st.sampled_from([0.0, 1.0]), scores]))
    found = iter(draw(st.lists(st.none() | kind, min_size=len(planned), max_size=len(planned))))
    cells = scored(planned, lambda axes: next(found))
    return [cell for cell in cells if draw(st.integers(0, 9))]  # some are not in the matrix


ANALYSES: list[Callable[[list[Scored]], object]] = [
    lambda cells: summarize(cells),
    lambda cells: compare(cells, "model", "exact"),
    lambda cells: pass_rates(cells, "exact"),
    lambda cells: verdicts(
        cells, sorted([cell.axes for cell in cells], key=str), ["model", "strategy"], ["exact"]
    ),
]


@pytest.mark.parametrize("analysis", ANALYSES)
@SOME
@given(cells=matrices(), seed=st.integers(0, 99))
def test_the_order_of_cells_changes_no_bit(
    analysis: Callable[[list[Scored]], object], cells: list[Scored], seed: int
) -> None:
    shuffled = random.Random(seed).sample(cells, len(cells))
    assert msgspec.json.encode(analysis(shuffled)) == msgspec.json.encode(analysis(cells))


@SOME
@given(matrices())
def test_every_cell_is_in_a_summary_and_its_intervals_hold_their_estimates(
    cells: list[Scored],
) -> None:
    summary = summarize(cells)
    for axis in ("model", "strategy"):
        groups = [group for group in summary.groups if list(group.axes) == [axis]]
        assert sum(group.n for group in groups) == len(cells)
    for group in [summary.whole, *summary.groups]:
        assert group.done + group.failed == group.n == sum(group.errors.values()) + group.done
        for found in group.scores.values():
            assert found.mean.n + found.unscored == group.n
            for each in (found.mean,):
                if each.low is not None:
                    assert each.value is not None and each.high is not None
                    assert 0 <= each.low <= each.value <= each.high <= 1


@SOME
@given(matrices())
def test_every_cell_of_two_values_is_in_a_pair_or_counted(cells: list[Scored]) -> None:
    for each in compare(cells, "model", "exact"):
        both = sum(cell.axes["model"] in (each.first, each.second) for cell in cells)
        lost = each.only_first + each.only_second + each.neither
        assert 2 * (each.pairs + lost) + each.without_partner == both
        assert bool(each.unpaired) == bool(lost + each.without_partner)
        assert (each.p is None) == (each.pairs == 0)
        if each.p is not None and each.p_holm is not None:
            assert 0 < each.p <= each.p_holm <= 1
        if each.difference.low is not None and each.difference.high is not None:
            assert each.difference.value is not None
            assert -1 <= each.difference.low <= each.difference.value <= each.difference.high <= 1
            excludes = each.difference.low > 0 or each.difference.high < 0
            assert each.p is not None and excludes == (each.p < 0.05)
        if each.mean_first is not None and each.mean_second is not None:
            assert each.difference.value == pytest.approx(each.mean_first - each.mean_second)


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), confidences)
def test_wilson_holds_the_proportion_and_is_symmetric(
    count: tuple[int, int], confidence: float
) -> None:
    successes, n = count
    low, high = wilson(successes, n, confidence)
    assert 0 <= low <= successes / n <= high <= 1
    assert wilson(n - successes, n, confidence) == pytest.approx((1 - high, 1 - low))


@SOME
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), confidences)
@example([1.0, 0.9738925463409476, 0.9738925463409476], 0.5)
@example([0.1] * 12, 0.95)
def test_an_interval_of_scores_from_0_to_1_holds_their_mean_and_stays_there(
    values: list[float], confidence: float
) -> None:
    options = AnalysisOptions(confidence=confidence)
    found = estimate({str(n): [each] for n, each in enumerate(values)}, options=options)
    assert found.low is not None and found.high is not None and found.value is not None
    assert 0 <= found.low <= found.value <= found.high <= 1 and found.low < found.high


@SOME
@given(st.dictionaries(st.text(max_size=3), st.lists(scores, max_size=3), max_size=6))
def test_repeats_copied_change_no_interval(by_unit: dict[str, list[float]]) -> None:
    """Three equal answers to an input say no more than one."""
    copied = {name: found * 3 for name, found in by_unit.items()}
    once, thrice = (estimate(each) for each in (by_unit, copied))
    assert thrice.units == once.units and thrice.n == 3 * once.n
    assert thrice.value == pytest.approx(once.value)
    if once.method == thrice.method:
        assert thrice.low == pytest.approx(once.low)
        assert thrice.high == pytest.approx(once.high)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_keeps_the_order_and_lies_between_the_raw_and_bonferroni(
    p_values: list[float],
) -> None:
    corrected = holm(p_values)
    for raw, ours in zip(p_values, corrected, strict=True):
        assert raw <= ours <= min(1.0, len(p_values) * raw)
    pairs = sorted(zip(p_values, corrected, strict=True))
    assert [ours for _, ours in pairs] == sorted(corrected)


@given(counts, counts, counts, confidences)
def test_tango_holds_the_difference_turns_with_the_sides_and_agrees_with_its_test(
    better: int, worse: int, same: int, confidence: float
) -> None:
    n = better + worse + same
    if not n:
        return
    low, high = tango(better, worse, n, confidence)
    middle = (better - worse) / n
    assert -1 <= low <= middle + 1e-12 and middle - 1e-12 <= high <= 1
    assert tango(worse, better, n, confidence) == pytest.approx((-high, -low), abs=1e-9)
    p = paired_p([1.0] * better + [-1.0] * worse + [0.0] * same)
    if abs(p - (1 - confidence)) > 1e-9:
        assert (low > 0 or high < 0) == (p < 1 - confidence)


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.data())
def test_pass_at_k_is_the_share_of_choices_that_have_a_pass(
    tries: list[bool], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(tries)))
    choices = [any(chosen) for chosen in combinations(tries, k)]
    ours = pass_at_k(len(tries), sum(tries), k)
    assert ours == pytest.approx(sum(choices) / len(choices))
    assert 0 <= ours <= 1
    if k > 1:
        assert ours >= pass_at_k(len(tries), sum(tries), k - 1)


@SOME
@given(st.lists(st.floats(-1, 1), max_size=40), st.floats(0.001, 0.2))
def test_a_confidence_sequence_is_within_the_range_and_turns_with_the_sides(
    values: list[float], alpha: float
) -> None:
    low, high = confidence_sequence(values, alpha)
    assert -1 <= low <= high <= 1
    turned = confidence_sequence([-value for value in values], alpha)
    assert turned == pytest.approx((-high, -low), abs=1e-5)
