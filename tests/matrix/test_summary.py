"""Summaries and pass@k, of cells that can be counted by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec
import pytest

from fanwise.errors import UsageError
from fanwise.matrix.stats.data import AnalysisOptions, Scored
from fanwise.matrix.stats.pass_at_k import default_ks, pass_rates
from fanwise.matrix.stats.summary import GroupSummary, summarize
from tests.matrix.support import cell, places, random_cells, scored


def group(found: list[GroupSummary], **axes: str) -> GroupSummary:
    (one,) = [each for each in found if each.axes == axes]
    return one


def by_hand() -> list[Scored]:
    """Model a is right on 3 of 4; b fails on one, and of another nobody knows the price."""
    cells = []
    for number in range(4):
        axes = {"input": f"i{number}", "repeat": "1", "strategy": "s"}
        right = float(number != 0)
        cells.append(
            cell(
                {**axes, "model": "a"}, right,
                usd=0.5, ran_s=1.0 + number, first_token_s=0.25 * number,
            )
        )  # fmt: skip
        cells.append(
            cell({**axes, "model": "b"}, right, failed=number == 1, usd=None if number == 1 else 1)
        )
    return cells


def test_a_summary_counts_what_can_be_counted_by_hand() -> None:
    summary = summarize(by_hand())
    a, b = group(summary.groups, model="a"), group(summary.groups, model="b")
    assert (a.n, a.done, a.failed, b.n, b.done, b.failed) == (4, 4, 0, 4, 3, 1)
    assert b.errors == {"TimeoutError": 1}
    assert (a.scores["exact"].mean.value, a.scores["exact"].passed) == (0.75, 3)
    assert (a.ran_s.n, a.ran_s.p50) == (4, 2.5)
    assert a.ran_s.p90 == pytest.approx(3.7)
    assert (a.first_token_s.p50, b.first_token_s.n) == (0.375, 3)
    assert (a.input_tokens.total, a.output_tokens.total) == (40, 20)
    assert (a.usd.total, a.scores["exact"].usd_per_pass) == (2.0, 2 / 3)


def test_an_unknown_cost_is_said_and_is_not_0() -> None:
    b = group(summarize(by_hand()).groups, model="b")
    assert (b.usd.total, b.usd.known, b.usd.unknown) == (None, 3.0, 1)
    assert b.scores["exact"].usd_per_pass is None


def test_a_cell_without_a_score_is_counted_beside_the_mean() -> None:
    b = group(summarize(by_hand()).groups, model="b").scores["exact"]
    assert (b.unscored, b.mean.n) == (1, 3)
    assert b.mean.value == pytest.approx(2 / 3)
    own = [msgspec.structs.replace(each, fault="strategy") for each in by_hand()]
    b = group(summarize(own).groups, model="b").scores["exact"]
    assert (b.unscored, b.mean.n, b.mean.value) == (0, 4, 0.5)


def test_groups_are_each_axis_and_all_crossed_or_those_asked_for() -> None:
    cells = random_cells(1, strategies=("s", "t"))
    found = [list(each.axes.values()) for each in summarize(cells).groups]
    assert found == [["a"], ["b"], ["s"], ["t"], ["a", "s"], ["a", "t"], ["b", "s"], ["b", "t"]]
    asked = summarize(cells, by=[("strategy", "model")]).groups
    assert [list(each.axes.values()) for each in asked] == [
        ["s", "a"], ["s", "b"], ["t", "a"], ["t", "b"],
    ]  # fmt: skip
    with pytest.raises(UsageError, match="Axes: input, model, repeat, strategy"):
        summarize(cells, by=[("modle",)])


def test_inputs_can_be_summarized_and_their_repeats_are_then_the_sample() -> None:
    cells = scored(places(models=("a",), inputs=3, repeats=4), lambda axes: 1.0)
    one = summarize(cells, by=[("input",)]).groups[0].scores["exact"].mean
    assert (one.unit, one.units, one.method) == ("repeat", 4, "wilson")


def test_an_input_weighs_the_same_however_many_of_its_repeats_were_scored() -> None:
    def score(axes: Mapping[str, str]) -> float | None:
        if axes["input"] == "i0":
            return 1.0 if axes["repeat"] == "1" else None
        return 0.0

    cells = scored(places(models=("a",), inputs=2, repeats=4), score)
    assert summarize(cells).whole.scores["exact"].mean.value == 0.5


def test_a_score_that_is_no_number_is_no_score() -> None:
    cells = scored(places(models=("a",), inputs=3), lambda axes: float("nan"))
    found = summarize(cells).whole.scores["exact"]
    assert (found.unscored, found.mean.value) == (3, None)


def test_a_summary_is_plain_json() -> None:
    summary = summarize(random_cells(4, failing=0.2, repeats=2))
    plain = json.loads(json.dumps(summary.to_json(), allow_nan=False))
    assert plain["whole"]["n"] == 80
    assert plain["groups"][0]["scores"]["exact"]["mean"]["method"] == "wilson"


def test_a_summary_of_nothing_is_empty_and_does_not_fail() -> None:
    summary = summarize([])
    assert (summary.whole.n, summary.groups, summary.whole.ran_s.p99) == (0, [], None)


def test_pass_at_k_over_repeats_is_averaged_over_inputs() -> None:
    right = {("i0", "1"), ("i1", "1"), ("i1", "2"), ("i1", "3")}
    cells = scored(
        places(models=("a",), inputs=3, repeats=3),
        lambda axes: float((axes["input"], axes["repeat"]) in right),
    )
    found = {each.k: each.estimate.value for each in pass_rates(cells, "exact")}
    assert found == {
        1: pytest.approx((1 / 3 + 1 + 0) / 3),
        2: pytest.approx((2 / 3 + 1 + 0) / 3),
        3: pytest.approx((1 + 1 + 0) / 3),
    }


def test_inputs_with_too_few_repeats_are_counted() -> None:
    def score(axes: Mapping[str, str]) -> float | None:
        return None if axes["input"] == "i0" and axes["repeat"] != "1" else 1.0

    cells = scored(places(models=("a",), inputs=4, repeats=3), score)
    one, two, three = pass_rates(cells, "exact")
    assert [each.too_few for each in (one, two, three)] == [0, 1, 1]
    assert [each.unscored for each in (one, two, three)] == [2, 2, 2]
    assert [each.estimate.units for each in (one, two, three)] == [4, 3, 3]
    own = [msgspec.structs.replace(each, fault="strategy") for each in cells]
    strict = pass_rates(own, "exact")
    assert [each.estimate.value for each in strict] == [pytest.approx((3 + x) / 4)
                                                        for x in (1 / 3, 2 / 3, 1)]  # fmt: skip


def test_pass_at_k_of_cells_that_all_failed_says_so() -> None:
    cells = scored(places(models=("a",), inputs=2, repeats=2), lambda axes: None)
    (found,) = pass_rates(cells, "exact", ks=[1])
    assert (found.estimate.value, found.too_few, found.unscored) == (None, 2, 4)


def test_a_score_passes_at_the_threshold() -> None:
    cells = scored(places(models=("a",), inputs=2), lambda axes: 0.5)
    low, high = (
        pass_rates(cells, "exact", options=AnalysisOptions(threshold=threshold))[0].estimate.value
        for threshold in (0.5, 0.6)
    )
    assert (low, high) == (1.0, 0.0)


def test_ks_double_up_to_the_repeats() -> None:
    assert [default_ks(n) for n in (0, 1, 3, 5, 8)] == [
        [], [1], [1, 2, 3], [1, 2, 4, 5], [1, 2, 4, 8],
    ]  # fmt: skip
