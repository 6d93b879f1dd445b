"""Contrasts that are settled: rarely wrongly, however often one looks; and what need not run."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

import pytest

from fanwise.errors import UsageError
from fanwise.matrix.stats.compare import compare
from fanwise.matrix.stats.data import Scored
from fanwise.matrix.stats.sequential import (
    ContrastVerdict,
    confidence_sequence,
    needless,
    spent,
    verdicts,
)
from tests.marks import slow_after
from tests.matrix.support import places, scored

ALPHA = 0.1
World = Callable[[random.Random], Callable[[], float]]


def round_of(cells: Sequence[Scored], last: int) -> list[Scored]:
    return [each for each in cells if int(each.axes["repeat"]) <= last]


def better(margin: float, seed: int) -> Callable[[Mapping[str, str]], float]:
    """Model a is right more often by the margin; inputs differ in how hard they are."""
    chance = random.Random(seed)
    ease: dict[str, float] = {}

    def score(axes: Mapping[str, str]) -> float:
        base = ease.setdefault(axes["input"], chance.uniform(0.05, 0.95 - margin))
        return float(chance.random() < base + margin * (axes["model"] == "a"))

    return score


# --- false decisions: the truth is that neither is better


def symmetric(chance: random.Random) -> Callable[[], float]:
    """Each input has a side that it is for, always: repeats say nothing new."""
    side = chance.choice([-1.0, 1.0])
    return lambda: side


def noisy(chance: random.Random) -> Callable[[], float]:
    """Right and wrong by chance, on inputs that lean to one side."""
    lean = chance.uniform(-0.4, 0.4)
    return lambda: float(chance.random() < 0.5 + lean) - float(chance.random() < 0.5)


def skewed(chance: random.Random) -> Callable[[], float]:
    """A small gain mostly, a great loss at times: on average 0, which few inputs do not show."""
    value = -1.0 if chance.random() < 0.1 else 1 / 9
    return lambda: value


def drifting(chance: random.Random) -> Callable[[], float]:
    """Small differences, none of them 0."""
    centre = chance.gauss(0, 0.1)
    return lambda: max(-1.0, min(1.0, centre + chance.gauss(0, 0.1)))


def excludes_0(interval: tuple[float, float]) -> bool:
    return interval[0] > 0 or interval[1] < 0


def history(chance: random.Random, world: World, inputs: int, rounds: int) -> list[list[float]]:
    """The inputs' means after each round."""
    draws = [world(chance) for _ in range(inputs)]
    found: list[list[float]] = [[] for _ in range(inputs)]
    looks = []
    for _ in range(rounds):
        for number, draw in enumerate(draws):
            found[number].append(draw())
        looks.append([sum(each) / len(each) for each in found])
    return looks


@pytest.mark.parametrize("inputs", slow_after(1, [12, 30]))
@pytest.mark.parametrize("world", [symmetric, noisy, skewed, drifting])
def test_over_all_looks_a_false_decision_is_at_most_as_frequent_as_alpha(
    world: World, inputs: int
) -> None:
    chance = random.Random(f"{world.__name__}{inputs}")
    runs, rounds = 250, 5
    wrong = 0
    for _ in range(runs):
        looks = history(chance, world, inputs, rounds)
        wrong += any(
            excludes_0(confidence_sequence(means, spent(ALPHA, number)))
            for number, means in enumerate(looks, 1)
        )
    assert wrong / runs <= ALPHA


def test_looking_at_every_input_within_a_round_is_allowed_too() -> None:
    """The sequence holds after any number of inputs: stop at the worst of them."""
    chance = random.Random(4)
    runs, wrong = 300, 0
    for _ in range(runs):
        values = [chance.choice([-1.0, 0.0, 1.0]) for _ in range(25)]
        wrong += excludes_0(
            confidence_sequence(values, ALPHA)
        )  # it keeps what was excluded on the way
    assert wrong / runs <= ALPHA


def test_a_test_made_for_one_look_is_wrong_far_more_often() -> None:
    """So the simulation has teeth: on the same kind of data, the usual test fails it."""
    chance = random.Random(9)
    runs, wrong = 60, 0
    for _ in range(runs):
        cells = scored(places(inputs=12, repeats=6), lambda axes: float(chance.random() < 0.5))
        wrong += any(
            (compare(round_of(cells, last), "model", "exact")[0].p or 0) < ALPHA
            for last in range(1, 7)
        )
    assert wrong / runs > 1.5 * ALPHA


def test_among_many_contrasts_any_false_decision_is_as_rare() -> None:
    chance = random.Random(12)
    planned = places(models=("a", "b", "c", "d"), inputs=15, repeats=3)
    runs, wrong = 40, 0
    for _ in range(runs):
        cells = scored(planned, lambda axes: float(chance.random() < 0.5))
        found = verdicts(cells, planned, ["model"], ["exact"])
        assert len(found) == 6 and all(each.alpha == 0.05 / 6 for each in found)
        wrong += any(each.decision for each in found)
    assert wrong / runs <= ALPHA


def test_alpha_is_spent_and_never_all_of_it() -> None:
    assert sum(spent(0.05, number) for number in range(1, 10_000)) < 0.05


def test_intervals_hold_the_true_difference() -> None:
    chance = random.Random(3)
    held = 0
    for _ in range(200):
        values = [float(chance.random() < 0.4) - float(chance.random() < 0.1) for _ in range(40)]
        low, high = confidence_sequence(values, ALPHA)
        held += low <= 0.3 <= high
    assert held / 200 >= 1 - ALPHA


# --- decisions


def decide(
    margin: float = 0.5, *, inputs: int = 40, repeats: int = 4, seed: int = 1
) -> tuple[list[dict[str, str]], list[Scored]]:
    planned = places(inputs=inputs, repeats=repeats)
    return planned, scored(planned, better(margin, seed))


def test_a_clear_difference_is_settled_early_and_the_further_repeats_need_not_run() -> None:
    planned, cells = decide()
    (verdict,) = verdicts(round_of(cells, 1), planned, ["model"], ["exact"])
    assert (verdict.decision, verdict.rounds, verdict.inputs) == ("first", 1, 40)
    assert verdict.low is not None and verdict.mean is not None and 0 < verdict.low < verdict.mean
    skipped = needless(planned, [verdict])
    assert [planned[place]["repeat"] for place in skipped] == ["2"] * 80 + ["3"] * 80 + ["4"] * 80


def test_a_decision_stays_whatever_comes_later() -> None:
    planned, cells = decide()
    first, *later = (
        verdicts(round_of(cells, last), planned, ["model"], ["exact"]) for last in (1, 2, 3, 4)
    )
    assert later == [first] * 3


def test_more_rounds_settle_what_one_does_not() -> None:
    planned, cells = decide(0.25, inputs=60, repeats=5, seed=5)
    found = [verdicts(round_of(cells, last), planned, ["model"], ["exact"])[0] for last in (1, 5)]
    assert [each.decision for each in found] == [None, "first"]
    assert found[1].rounds == 2


def test_only_complete_rounds_are_looked_at() -> None:
    planned, cells = decide(repeats=2)
    for missing in (0, 40, 79):
        part = [*cells[:missing], *cells[missing + 1 : 80]]
        (verdict,) = verdicts(part, planned, ["model"], ["exact"])
        assert (verdict.decision, verdict.rounds, verdict.note) == (None, 0, "no complete round")
        assert needless(planned, [verdict]) == []


def test_the_second_can_win_and_two_that_are_the_same_are_not_settled() -> None:
    planned = places(inputs=60)

    def verdict(score: Callable[[Mapping[str, str]], float]) -> ContrastVerdict:
        return verdicts(scored(planned, score), planned, ["model"], ["exact"])[0]

    assert verdict(lambda axes: float(axes["model"] == "b")).decision == "second"
    assert verdict(lambda axes: 1.0).decision is None


def test_a_cell_is_needed_while_one_of_its_contrasts_is_open() -> None:
    """a and b are equal; c is far behind: c's cells are settled, a's and b's are not."""
    planned = places(models=("a", "b", "c"), inputs=60, repeats=2)
    chance = random.Random(2)
    cells = scored(
        planned, lambda axes: 0.0 if axes["model"] == "c" else float(chance.random() < 0.8)
    )
    found = verdicts(round_of(cells, 1), planned, ["model"], ["exact"])
    assert [each.decision for each in found] == [None, "first", "first"]
    skipped = [planned[place] for place in needless(planned, found)]
    assert {(axes["model"], axes["repeat"]) for axes in skipped} == {("c", "2")}


def test_a_cell_without_a_partner_is_always_needed() -> None:
    planned, cells = decide(repeats=2)
    alone = {"model": "a", "strategy": "t", "input": "i0", "repeat": "2"}
    found = verdicts(round_of(cells, 1), [*planned, alone], ["model"], ["exact"])
    assert found[0].decision == "first"
    assert len(planned) not in needless([*planned, alone], found)


def test_failed_pairs_are_counted_and_end_their_round() -> None:
    planned = places(inputs=40)
    cells = scored(
        planned, lambda axes: None if axes["input"] == "i3" else float(axes["model"] == "a")
    )
    (verdict,) = verdicts(cells, planned, ["model"], ["exact"])
    assert (verdict.inputs, verdict.pairs, verdict.unscored) == (39, 39, 1)
    assert verdict.decision == "first"
    nothing = scored(planned, lambda axes: None)
    (verdict,) = verdicts(nothing, planned, ["model"], ["exact"])
    assert (verdict.decision, verdict.note) == (None, "no pair has both scores")


def test_scores_beyond_1_are_never_decided_on() -> None:
    planned = places(inputs=40)
    cells = scored(planned, lambda axes: 10.0 * (axes["model"] == "a"))
    (verdict,) = verdicts(cells, planned, ["model"], ["exact"])
    assert verdict.decision is None and "not from 0 to 1" in verdict.note


def test_ten_repeats_come_after_nine() -> None:
    planned, cells = decide(0.0, repeats=11)
    (verdict,) = verdicts(round_of(cells, 9), planned, ["model"], ["exact"])
    assert verdict.rounds == 9


def test_inputs_and_repeats_are_no_contrast() -> None:
    with pytest.raises(UsageError, match="cannot be compared"):
        verdicts([], places(), ["input"], ["exact"])
