"""Every statistic against scipy or statsmodels, on fixed data."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from bench.cases.statistics import coverage
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from fanwise.matrix.stats.compare import compare, holm
from fanwise.matrix.stats.intervals import estimate, wilson
from fanwise.matrix.stats.paired import paired_interval, paired_p, tango
from fanwise.matrix.stats.summary import percentile
from tests.matrix.support import random_cells

CHANCE = random.Random(7)
SKEWED = [CHANCE.expovariate(1.0) for _ in range(40)]
EVEN = [CHANCE.uniform(0, 1) for _ in range(60)]


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("successes", "n"), [(0, 5), (5, 5), (1, 30), (17, 30), (700, 1000)])
def test_wilson_is_that_of_statsmodels(successes: int, n: int, confidence: float) -> None:
    theirs = proportion_confint(successes, n, alpha=1 - confidence, method="wilson")
    assert wilson(successes, n, confidence) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("counts", [(0, 1), (1, 0), (3, 9), (10, 10), (2, 60), (400, 500)])
def test_the_test_of_right_and_wrong_is_mcnemars_of_statsmodels(counts: tuple[int, int]) -> None:
    table = [[11, counts[0]], [counts[1], 13]]
    theirs = statsmodels_mcnemar(table, exact=False, correction=False).pvalue
    assert paired_p(signs(*counts, 24)) == pytest.approx(theirs)


def signs(better: int, worse: int, same: int) -> list[float]:
    return [1.0] * better + [-1.0] * worse + [0.0] * same


def test_a_p_value_is_never_0_and_without_a_difference_1() -> None:
    assert 0 < paired_p([1.0] * 5_000) < 1e-300
    assert paired_p([0.0] * 4) == 1.0


@pytest.mark.parametrize(
    "p_values",
    [
        [0.01],
        [0.04, 0.01, 0.03],
        [0.5, 0.9, 1.0, 0.001],
        [0.02, 0.02, 0.02],
        [0.2, 0.05, 0.01, 0.01],
    ],
)
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("values", [[3.0], [2.0, 1.0], SKEWED, EVEN])
def test_percentiles_are_those_of_numpy_and_scipy(values: list[float], share: float) -> None:
    ours = percentile(values, share)
    assert ours == pytest.approx(float(np.percentile(values, 100 * share)))
    assert ours == pytest.approx(float(stats.scoreatpercentile(values, 100 * share)))


@pytest.mark.parametrize("shift", [0.0, 0.2])
@pytest.mark.parametrize(("inputs", "repeats", "binary"), [(40, 3, True), (30, 1, True),
                                                           (12, 2, False)])  # fmt: skip
def test_paired_intervals_hold_the_truth_and_never_contradict_the_p_value(
    inputs: int, repeats: int, binary: bool, shift: float
) -> None:
    """The bootstrap's intervals held it in 92 of 100 matrices of 40 inputs and 3 repeats."""
    held, contradictions = coverage(inputs, repeats, binary, shift, 250)
    assert held >= 0.925  # 0.95, but for two standard errors of 250 draws
    assert contradictions == 0


def test_an_interval_is_all_that_the_test_does_not_reject() -> None:
    values = [each - 0.3 for each in SKEWED[:11]]
    found = paired_interval(values, 0.9)
    assert found is not None

    def p(centre: float) -> float:
        return paired_p([value - centre for value in values])

    for end, outside in zip(found, (-1e-6, 1e-6), strict=True):
        assert p(end - outside) > 0.1 > p(end + outside)


def test_three_values_are_too_few_for_an_interval_and_five_are_wider_than_students() -> None:
    assert paired_interval([0.1, 0.2, 0.3], 0.95) is None
    few = [0.1, 0.2, 0.3, 0.4, 0.6]
    student = stats.ttest_1samp(few, 0.0)
    ours, theirs = paired_interval(few, 0.95), student.confidence_interval()
    assert ours is not None and ours[0] < theirs.low and theirs.high < ours[1]
    assert paired_p([1.0] * 5 + [0.0]) > 0.02 > stats.ttest_1samp(signs(5, 0, 1), 0.0).pvalue


def test_many_values_have_students_interval() -> None:
    ours, theirs = paired_interval(EVEN * 20, 0.95), stats.ttest_1samp(EVEN * 20, 0.0)
    assert ours == pytest.approx(theirs.confidence_interval(), rel=2e-3)


@pytest.mark.parametrize(("better", "worse", "n"), [(12, 2, 50), (0, 3, 20), (9, 9, 30)])
def test_tango_ends_where_the_score_test_of_the_likeliest_table_rejects(
    better: int, worse: int, n: int
) -> None:
    for truth in tango(better, worse, n, 0.95):

        def unlikely(share: float, truth: float = truth) -> float:
            table = [share + truth, share, 1 - 2 * share - truth]
            counts = [better, worse, n - better - worse]
            return -sum(k * math.log(max(p, 1e-300)) for k, p in zip(counts, table, strict=True))

        bounds = (max(0.0, -truth), (1 - truth) / 2)
        share = optimize.minimize_scalar(unlikely, bounds=bounds, options={"xatol": 1e-12}).x
        variance = n * (2 * share + truth - truth**2)
        assert abs(better - worse - n * truth) == pytest.approx(
            1.96 * math.sqrt(variance), rel=1e-3
        )


def test_tango_has_a_width_where_nothing_differs() -> None:
    z = stats.norm.ppf(0.975)
    width = z**2 / (40 + z**2)
    assert tango(0, 0, 40, 0.95) == pytest.approx((-width, width))


@pytest.mark.parametrize("truth", [0.0, 0.1])
@pytest.mark.parametrize("n", [15, 40, 100])
def test_tango_holds_the_truth_in_94_to_97_of_100_by_enumeration(n: int, truth: float) -> None:
    better, worse = 0.15 + truth, 0.15
    held = sum(
        float(stats.multinomial.pmf([b, c, n - b - c], n, [better, worse, 1 - better - worse]))
        for b in range(n + 1)
        for c in range(n + 1 - b)
        if (found := tango(b, c, n, 0.95))[0] <= truth <= found[1]
    )
    assert 0.94 <= held <= 0.97


def covered(intervals: Sequence[tuple[float, float]], truth: float) -> float:
    return float(np.mean([low <= truth <= high for low, high in intervals]))


def clustered(chance: random.Random, inputs: int, repeats: int) -> dict[str, list[float]]:
    """Inputs are easy (90 %) or hard (30 %): the mean is 0.6, and repeats are much alike."""
    return {
        str(number): [float(chance.random() < ease) for _ in range(repeats)]
        for number, ease in ((number, chance.choice([0.9, 0.3])) for number in range(inputs))
    }


def test_intervals_over_inputs_cover_where_intervals_over_cells_do_not() -> None:
    chance = random.Random(11)
    ours, naive = [], []
    for _ in range(300):
        found = clustered(chance, 30, 8)
        one = estimate(found)
        assert one.method == "wilson" and one.low is not None and one.high is not None
        ours.append((one.low, one.high))
        cells = [score for group in found.values() for score in group]
        naive.append(wilson(sum(cells), len(cells)))
    assert covered(ours, 0.6) >= 0.925
    assert covered(naive, 0.6) < 0.80, "counting cells: too narrow by far"


@pytest.mark.parametrize("inputs", [4, 9, 10, 20, 60])
@pytest.mark.parametrize(
    ("draw", "truth"),
    [(lambda chance: chance.betavariate(2, 2), 0.5),
     (lambda chance: chance.uniform(0.85, 0.95), 0.9),
     (lambda chance: chance.betavariate(0.5, 4.5), 0.1)],
)  # fmt: skip
def test_intervals_of_graded_scores_hold_the_truth_with_few_inputs_too(
    draw: Callable[[random.Random], float], truth: float, inputs: int
) -> None:
    """A bootstrap over inputs held it in 78 to 92 of 100 with 4 to 12 inputs."""
    chance = random.Random(inputs)
    found = [estimate({str(n): [draw(chance)] for n in range(inputs)}) for _ in range(600)]
    held = covered([(each.low or 0.0, each.high or 0.0) for each in found], truth)
    assert held >= 0.90  # 0.925 of the most skewed, but for two standard errors of 600 draws


def test_an_interval_of_many_graded_scores_is_students() -> None:
    values = EVEN[:12]
    found = estimate({str(n): [each] for n, each in enumerate(values)})
    student = stats.ttest_1samp(values, 0.0).confidence_interval()
    assert found.low is not None and found.high is not None
    assert found.high - found.low == pytest.approx(student.high - student.low, rel=0.1)
    many = estimate({str(n): [each] for n, each in enumerate(EVEN * 20)})
    student = stats.ttest_1samp(EVEN * 20, 0.0).confidence_interval()
    assert (many.low, many.high) == pytest.approx(tuple(student), abs=2e-4)


def test_a_comparison_of_models_is_what_statsmodels_says_of_its_table() -> None:
    cells = random_cells(3, models=("a", "b", "c"), inputs=60)
    by_place = {(each.axes["model"], each.axes["input"]): each.scores["exact"] for each in cells}
    contrasts = compare(cells, "model", "exact")
    assert [(each.first, each.second) for each in contrasts] == [("a", "b"), ("a", "c"), ("b", "c")]
    raw = []
    for each in contrasts:
        first, second = (
            [by_place[value, f"i{number}"] for number in range(60)]
            for value in (each.first, each.second)
        )
        table = [[sum(x == i and y == j for x, y in zip(first, second, strict=True))
                  for j in (1, 0)] for i in (1, 0)]  # fmt: skip
        raw.append(statsmodels_mcnemar(table, exact=False, correction=False).pvalue)
        assert each.test == "mcnemar" and each.p == pytest.approx(raw[-1])
        assert each.difference.value == pytest.approx((table[0][1] - table[1][0]) / 60)
        assert (each.first_better, each.second_better) == (table[0][1], table[1][0])
    corrected = list(multipletests(raw, method="holm")[1])
    assert [each.p_holm for each in contrasts] == pytest.approx(corrected)
