"""Comparisons: which test is taken, what is counted, what is said."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
import pytest

from fanwise.errors import UsageError
from fanwise.matrix.stats.compare import compare
from fanwise.matrix.stats.data import AnalysisOptions, Fault, Scored
from fanwise.matrix.stats.intervals import estimate, wilson
from fanwise.matrix.stats.summary import summarize
from tests.matrix.support import cell, places, random_cells, scored


def test_one_repeat_of_right_and_wrong_is_mcnemars_and_tangos() -> None:
    (found,) = compare(random_cells(1), "model", "exact")
    assert (found.test, found.difference.method, found.pairs) == ("mcnemar", "tango", 20)


@pytest.mark.parametrize("shape", [{"repeats": 3}, {"strategies": ("s", "t")}, {"binary": False}])
def test_everything_else_is_tested_by_input(shape: dict[str, object]) -> None:
    cells = random_cells(1, **shape)  # type: ignore[arg-type]
    found = compare(cells, "model", "exact")[0]
    assert (found.test, found.difference.method) == ("paired-z", "paired-z")
    assert found.difference.units == 20, "inputs, however many cells they have"
    assert found.difference.n == found.pairs == len(cells) / 2


def test_repeats_that_agree_are_no_more_evidence_than_one() -> None:
    """Six inputs, always the same answer: twenty repeats do not make it a hundred and twenty."""

    def score(axes: Mapping[str, str]) -> float:
        return float(axes["model"] == "a" or axes["input"] == "i0")

    once, often = (
        compare(scored(places(inputs=6, repeats=n), score), "model", "exact")[0] for n in (1, 20)
    )
    assert once.p == often.p == pytest.approx(math.erfc(math.sqrt(5 / 2)))
    assert (once.difference.low, once.difference.high) == (
        often.difference.low,
        often.difference.high,
    )


def test_the_baseline_is_what_the_others_are_compared_with() -> None:
    cells = random_cells(2, models=("a", "b", "c"))
    found = compare(cells, "model", "exact", baseline="b")
    assert [(each.first, each.second) for each in found] == [("a", "b"), ("c", "b")]


def test_the_family_is_what_is_compared_so_a_baseline_corrects_less() -> None:
    cells = random_cells(2, models=("a", "b", "c"), inputs=40)
    all_pairs, with_b = compare(cells, "model", "exact"), compare(
        cells, "model", "exact", baseline="b"
    )  # fmt: skip
    assert all_pairs[0].p == with_b[0].p
    assert all_pairs[0].p_holm is not None and with_b[0].p_holm is not None
    assert all_pairs[0].p_holm >= with_b[0].p_holm


def test_what_failed_is_counted_and_said() -> None:
    missing = {("a", "i0"), ("b", "i1"), ("b", "i2"), ("a", "i3"), ("b", "i3")}
    cells = scored(
        places(inputs=8),
        lambda axes: None if (axes["model"], axes["input"]) in missing else 1.0,
    )
    cells.append(cell({"model": "a", "strategy": "t", "input": "i0", "repeat": "1"}, 1.0))
    (found,) = compare(cells, "model", "exact")
    assert (found.pairs, found.only_first, found.only_second, found.neither) == (4, 2, 1, 1)
    assert found.without_partner == 1
    assert found.unpaired == (
        "4 of 8 pairs missing: 2 without a score of b, 1 without a score of a, 1 without both; "
        "1 cell without a partner"
    )
    assert found.failures == "failed: a 2 of 8, b 3 of 8"


def test_a_failure_of_the_strategy_is_a_wrong_answer_unless_it_shall_be_missing() -> None:
    def cells(fault: Fault) -> list[Scored]:
        return [cell(axes, 1.0, failed=axes["model"] == "b", fault=fault)
                for axes in places(inputs=6)]  # fmt: skip

    (counted,) = compare(cells("strategy"), "model", "exact")
    assert (counted.pairs, counted.difference.value) == (6, 1.0)
    assert counted.p == pytest.approx(math.erfc(math.sqrt(6 / 2)))
    assert counted.failures == "failed: a 0 of 6, b 6 of 6"
    missing = AnalysisOptions(failed_as=None)
    for left_out in (
        *compare(cells("provider"), "model", "exact"),
        *compare(cells("strategy"), "model", "exact", options=missing),
    ):
        assert (left_out.p, left_out.p_holm, left_out.difference.value) == (None, None, None)
        assert left_out.difference.note == "no scores"
        assert left_out.unpaired == "6 of 6 pairs missing: 6 without a score of b"


def test_pairs_of_cells_that_did_not_run_are_missing_too() -> None:
    cells = scored(places(inputs=4), lambda axes: 1.0)
    waiting = [msgspec.structs.replace(each, status="waiting", scores={}) for each in cells[-2:]]
    (found,) = compare([*cells[:-2], *waiting], "model", "exact")
    assert found.unpaired == "1 of 4 pairs missing: 1 without both"
    summary = summarize([*cells[:-2], *waiting], by=[]).whole
    assert (summary.n, summary.waiting, summary.scores["exact"].unscored) == (6, 2, 2)


def test_a_scorer_that_failed_is_no_score_even_if_failures_are_wrong_answers() -> None:
    cells = [cell(axes, None if axes["model"] == "b" else 1.0) for axes in places(inputs=3)]
    (found,) = compare(cells, "model", "exact")
    assert (found.pairs, found.only_first) == (0, 3)


def test_no_difference_anywhere_is_not_a_sure_zero() -> None:
    (once,) = compare(scored(places(inputs=5), lambda axes: 1.0), "model", "exact")
    assert once.p == 1.0 and once.difference.low is not None and once.difference.low < -0.3
    (often,) = compare(scored(places(inputs=5, repeats=2), lambda axes: 1.0), "model", "exact")
    assert (often.p, often.difference.low) == (1.0, once.difference.low), "repeats add nothing"
    (graded,) = compare(scored(places(inputs=5), lambda axes: 0.5), "model", "exact")
    assert graded.p == 1.0 and graded.difference.low is None
    assert graded.difference.note == "each input differs by the same"


def test_with_one_input_the_repeats_are_the_sample() -> None:
    cells = scored(places(inputs=1, repeats=8), lambda axes: float(axes["model"] == "a"))
    (found,) = compare(cells, "model", "exact")
    assert (found.test, found.difference.unit) == ("mcnemar", "repeat")
    assert found.p == pytest.approx(math.erfc(math.sqrt(8 / 2)))


@pytest.mark.parametrize("axis", ["input", "repeat", "modle"])
def test_what_cannot_be_compared_is_refused_with_what_can(axis: str) -> None:
    with pytest.raises(UsageError, match="Axes to compare: model, strategy"):
        compare(random_cells(1), axis, "exact")


def test_a_baseline_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="It has: a, b"):
        compare(random_cells(1), "model", "exact", baseline="z")


def test_two_cells_in_one_place_are_refused() -> None:
    cells = random_cells(1)
    with pytest.raises(UsageError, match="same axes"):
        compare([*cells, cells[0]], "model", "exact")


def test_no_cells_are_no_contrasts() -> None:
    assert compare([], "model", "exact") == []


def test_intervals_say_which_method_and_why() -> None:
    assert estimate({"i": [1.0], "j": [0.0]}).method == "wilson"
    few = estimate({"i": [0.5], "j": [0.0]})
    assert (few.method, few.note) == ("wilson", "only 2 inputs: the interval is wider than needed")
    assert (few.low, few.high) == wilson(0.5, 2)
    copies = estimate({"i": [1.0] * 9, "j": [1.0] * 9, "k": [1.0] * 9})
    assert (copies.method, copies.n, copies.units) == ("wilson", 27, 3)
    assert (copies.low, copies.high) == (estimate({"i": [1.0], "j": [1.0], "k": [1.0]}).low, 1.0)
    assert estimate({"i": [5.0], "j": [4.0]}).note == "only 2 inputs: too few for an interval"
    assert estimate({"i": [5.0], "j": [5.0]}).note == "each input scores the same"
    even = {str(n): [1.0, float(n == 0)] for n in range(10)}
    assert (estimate(even).low, estimate(even).high) == wilson(11, 20), "no more than the cells"
    graded = {str(n): [3.0 + n] for n in range(12)}
    assert estimate(graded).method == "paired-z" and estimate(graded).low is not None
    assert estimate({}).note == "no scores"


@pytest.mark.parametrize("wrong", [{"confidence": 1.0}, {"confidence": 0}])
def test_options_that_cannot_work_are_refused_at_once(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        AnalysisOptions(**wrong)
