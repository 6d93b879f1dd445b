"""What pairs of measurements come to: decided without a process or a clock."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable

import numpy
import pytest
from msgspec.structs import replace

from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.benchmark.compare import (
    Comparison,
    by_new_calls,
    compare_speed,
    only_repeated,
)
from fanwise.optimize.benchmark.noise import noise_of, smallest_gain
from fanwise.optimize.benchmark.pair import (
    Measurement,
    Pair,
    TimedValues,
    gain_shows,
    import_cost_s,
    remembers,
)
from fanwise.optimize.benchmark.sequential import FIRST, Accept, Speed
from fanwise.optimize.benchmark.size_class import CallClass
from fanwise.optimize.benchmark.stopwatch import BenchCommand, NoFigure
from fanwise.optimize.differential.child_program import Site
from fanwise.optimize.differential.equal import Tolerance

RNG = numpy.random.default_rng(5)


def side(
    seconds: float, *, new: float | None = None, gave: object = 1, **more: float
) -> Measurement:
    """A process that needs so much for a known call, and so much for a new one."""
    noise = float(RNG.normal(1, 0.01))
    form = json.dumps(["float", float(gave).hex()] if isinstance(gave, float) else gave)
    return Measurement(
        seconds=seconds * noise,
        again_s=seconds * noise,
        new_s=(seconds * 1.5 if new is None else new) * float(RNG.normal(1, 0.03)),
        forms={"0": form, "1": "true"},
        claimed_s=more.get("claimed", seconds),
        wall_s=more.get("wall", 0.3 + seconds),
        cpu_s=more.get("cpu", 0.25 + seconds),
        import_s=more.get("imported", 0.02),
        import_cpu_s=more.get("import_cpu", 0.02) * float(RNG.normal(1, 0.05)),
    )


def compared(pairs: Iterable[Pair | NoFigure], accept: Accept = Accept()) -> Speed:  # noqa: B008
    comparison = Comparison(accept, Tolerance())
    for pair in pairs:
        comparison.add(pair)
        if comparison.decision is not None:
            break
    if comparison.decision is None:
        comparison.give_up(60.0)
    return comparison.speed(1.0)


def test_a_gain_is_accepted_with_its_interval() -> None:
    speed = compared(Pair(side(1.3), side(1.0)) for _ in range(60))
    assert speed.decision == "accept"
    assert 1.2 < speed.low <= speed.ratio <= speed.high < 1.4
    assert speed.rounds == FIRST
    assert "times as fast, and 1.05 times is asked for" in speed.reason
    assert (speed.baseline_s, speed.candidate_s) == pytest.approx((1.3, 1.0), rel=0.02)


def test_no_gain_is_rejected_and_a_small_one_waits_for_more_pairs() -> None:
    assert compared(Pair(side(1.0), side(1.0)) for _ in range(60)).decision == "reject"
    close = compared(Pair(side(1.07), side(1.0)) for _ in range(200))
    assert (close.decision, close.rounds > FIRST) == ("accept", True)


def test_too_few_pairs_say_how_many_are_needed() -> None:
    speed = compared(Pair(side(2.0), side(1.0)) for _ in range(3))
    assert speed.decision == "undecided"
    assert "8 pairs are needed: give it more time" in speed.reason
    assert speed.low == 0.0, "nothing is known yet"
    assert json.loads(json.dumps(speed.high)) < 3, "infinity is no JSON"


def test_a_candidate_that_cannot_be_timed_is_rejected_with_the_reason() -> None:
    speed = compared([NoFigure("it took too long")])
    assert (speed.decision, speed.rounds) == ("reject", 0)
    assert speed.reason == "it cannot be timed: it took too long"


# -- remembering ---------------------------------------------------------------------------------


def test_who_only_remembers_is_judged_by_calls_that_are_new() -> None:
    """A hundred times as fast at known calls, and no faster at new ones."""
    speed = compared(Pair(side(1.0), side(0.01, new=1.5)) for _ in range(60))
    assert speed.decision == "reject"
    assert "it gains only on repeated calls" in speed.reason
    assert speed.ratio == pytest.approx(1.0, abs=0.1)


def test_who_remembers_and_is_faster_at_new_calls_too_is_accepted_for_that() -> None:
    speed = compared(Pair(side(1.0, new=1.1), side(0.01, new=0.55)) for _ in range(60))
    assert speed.decision == "accept"
    assert speed.ratio == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("cold", [0.0, 0.5, 20.0])
@pytest.mark.parametrize("gain", [1.1, 1.5, 10.0])
def test_a_first_call_that_costs_more_on_both_sides_is_no_remembering(
    cold: float, gain: float
) -> None:
    pairs = [Pair(side(gain, new=gain + cold), side(1.0, new=1.0 + cold)) for _ in range(12)]
    assert not remembers(pairs)


def test_who_gains_nothing_remembers_nothing() -> None:
    assert not remembers([Pair(side(1.0), side(1.2, new=30.0)) for _ in range(20)])
    assert not remembers([])


def test_a_command_has_no_new_calls_and_counts_as_it_is() -> None:
    pairs = [Pair(Measurement(seconds=1.5), Measurement(seconds=1.0))] * 8
    assert not remembers(pairs)
    assert compared(pairs).decision == "accept"


# -- benchmarks of the user's own --------------------------------------------------------------


def told(decision: str, reason: str = "2 times as fast") -> Speed:
    pairs = [Pair(Measurement(seconds=2.0), Measurement(seconds=1.0))] * 8
    return replace(compared(pairs), decision=decision, reason=reason, spent_s=3.0)


def test_a_gain_that_may_be_a_caches_is_not_accepted_and_says_so() -> None:
    found = only_repeated(told("accept"), "there is no target")
    assert found.decision == "undecided"
    assert found.reason.startswith("only repeated calls were measured: there is no target")


@pytest.mark.parametrize("decision", ["accept", "reject", "undecided"])
def test_the_benchmarks_calls_must_show_the_gain_when_they_are_new(decision: str) -> None:
    found = by_new_calls(told("accept"), told(decision, "at most 1.00 times as fast"))
    assert (found.decision, found.spent_s) == (decision, 6.0)
    assert "at most 1.00 times as fast" in found.reason


@pytest.mark.parametrize("how", ["changed", "made"])
def test_who_writes_files_while_it_is_timed_may_remember_there(how: str) -> None:
    theirs = replace(Measurement(seconds=1.0), **{how: ("data.bin",)})
    pairs = [Pair(Measurement(seconds=9.0), theirs)] * 9
    speed = compared(pairs)
    assert speed.decision == "undecided"
    assert speed.reason == (
        "only repeated calls were measured: data.bin is written while it is timed"
    )
    assert compared(pairs, Accept(allow_repeated=True)).decision == "accept"


def test_files_that_the_original_makes_too_are_part_of_its_work() -> None:
    pair = Pair(Measurement(seconds=9.0, made=("log",)), Measurement(seconds=1.0, made=("log",)))
    assert compared([pair] * 9).decision == "accept"


# -- what cannot be decided ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "left_s", "goes_on"),
    [(0, 2.9, False), (0, 3.0, True), (3, 1.9, False), (3, 2.0, True), (5, 2.9, False),
     (5, 3.0, True), (8, 0.9, False), (8, 1.0, True), (30, 1.0, True)],
)  # fmt: skip
def test_nothing_is_measured_that_cannot_decide_in_the_time_that_is_left(
    pairs: int, left_s: float, goes_on: bool
) -> None:
    """With a second for a pair: decisions are possible at 3, 5, 8 and more pairs."""
    comparison = Comparison(Accept(), Tolerance())
    for n in range(pairs):
        close = 1.05 * (1.02 if n % 2 else 0.98)
        comparison.add(Pair(Measurement(seconds=close), Measurement(seconds=1.0)))
    assert comparison.decision is None
    assert comparison.can_decide(left_s, 1.0) is goes_on


def test_what_is_not_begun_says_why_and_has_no_figures() -> None:
    where = Site(root="/nowhere", path="/nowhere")
    bench = BenchCommand(line="must not run")
    settings = Settings(timeout_s=1.0)
    speed = asyncio.run(compare_speed(where, where, bench, settings, budget_s=60.0, pair_s=20.1))
    assert (speed.decision, speed.rounds) == ("undecided", 0)
    assert "3 take longer, so it is not measured; give it more time" in speed.reason


def test_a_run_says_how_long_a_decision_takes_before_it_measures() -> None:
    pairs = [Pair(Measurement(seconds=1.0), Measurement(seconds=1.0))] * 8
    noise = noise_of(pairs, Accept(), budget_s=60.0, spent_s=12.0)
    assert noise.announcement(3, 60.0) == (
        "3 candidates to measure: a decision takes about 12 s for each candidate "
        "(8 pairs of runs), at most 60 s"
    )
    slow = noise_of(pairs[:1], Accept(), budget_s=60.0, spent_s=25.0)
    assert slow.announcement(3, 60.0) == (
        "nothing is measured: 3 pairs of runs take about 75 s, and a candidate has at most 60 s"
    )


# -- what is wrong although it is fast -----------------------------------------------------------


def test_who_gives_something_else_while_it_is_timed_is_rejected() -> None:
    speed = compared(Pair(side(9.0), side(1.0, gave=2)) for _ in range(60))
    assert (speed.decision, "call 0 returns something else" in speed.reason) == ("reject", True)


def test_what_the_original_does_not_always_give_is_not_held_against_anybody() -> None:
    speed = compared(Pair(side(9.0, gave=n), side(1.0, gave=-n)) for n in range(60))
    assert speed.decision == "accept"


def test_floats_may_differ_by_the_tolerance_and_no_more() -> None:
    for gave, wrong in ((1.0 + 1e-12, []), (1.0 + 1e-3, [0])):
        values = TimedValues(Tolerance())
        for _ in range(2):
            values.add(Pair(side(1.0, gave=1.0), side(1.0, gave=gave)))
        assert values.wrong == wrong


def test_a_call_of_which_the_candidate_says_nothing_is_wrong() -> None:
    values = TimedValues(Tolerance())
    values.add(Pair(side(1.0), Measurement(seconds=1.0)))
    assert values.wrong == [0, 1]


def test_who_changes_the_benchmark_is_rejected() -> None:
    speed = compared([Pair(Measurement(seconds=9, source="a"), Measurement(seconds=1, source="b"))])
    assert (speed.decision, speed.reason) == ("reject", "it changes the benchmark itself")


def test_a_gain_that_does_not_show_from_outside_is_not_believed() -> None:
    """Its own clock was turned back: it claims 0.02 s, and its process computes for a second."""
    liar = [Pair(side(1.0), side(0.02, wall=1.3, cpu=1.25)) for _ in range(20)]
    assert not gain_shows(liar)
    speed = compared(liar)
    assert (speed.decision, speed.rounds) == ("undecided", 8)
    assert "longer than its figures say" in speed.reason
    lucky = [Pair(side(1.0), side(0.02, wall=0.3, cpu=1.25)) for _ in range(5)]
    assert not gain_shows(lucky), "few wall-clock times may be luck"


def test_a_busy_machine_is_no_lie_and_neither_are_threads() -> None:
    busy = [Pair(side(1.0, wall=1.5), side(0.5, wall=5.0)) for _ in range(20)]
    assert gain_shows(busy), "others had the processor, and that is not its processor time"
    waits = [Pair(side(1.0, cpu=0.1), side(0.5, cpu=0.1)) for _ in range(20)]
    assert gain_shows(waits), "it sleeps less"
    threads = [Pair(side(1.0), side(0.5, cpu=2.0)) for _ in range(20)]
    assert gain_shows(threads)


def test_an_import_that_costs_more_than_a_pass_gains_is_not_accepted() -> None:
    table = [Pair(side(0.01), side(0.001, import_cpu=0.07, imported=0.07)) for _ in range(20)]
    speed = compared(table)
    assert speed.decision == "undecided"
    assert "its import takes 50 ms" in speed.reason
    assert "pays after 6 passes" in speed.reason
    asleep = compared(Pair(side(0.01), side(0.001, imported=0.07)) for _ in range(20))
    assert (asleep.decision, "import takes 50 ms" in asleep.reason) == ("undecided", True)
    allowed = compared(table, Accept(allow_repeated=True))
    assert (allowed.decision, "its import takes 50 ms" in allowed.reason) == ("accept", True)


def test_imports_that_a_busy_machine_slowed_down_in_the_first_pairs_decide_nothing() -> None:
    slow = Pair(side(0.01), side(0.001, import_cpu=0.07, imported=0.07))
    usual = Pair(side(0.01), side(0.001))
    assert compared([slow] * 4 + [usual] * 16).decision == "accept"
    assert compared([slow] * 4).decision == "undecided"


def test_an_import_that_a_pass_pays_for_is_told_and_noise_is_none() -> None:
    paid = compared(Pair(side(1.0), side(0.1, imported=0.07)) for _ in range(20))
    assert (paid.decision, "import takes 50 ms" in paid.reason) == ("accept", True)
    late = compared(Pair(side(1.0), side(0.9, imported=0.1)) for _ in range(20))
    assert late.decision == "undecided", "with its import it gains nothing"
    assert import_cost_s([Pair(side(1.0), side(0.1)) for _ in range(3)]) == 0


def test_an_overwhelming_gain_is_accepted_after_three_pairs_and_a_loss_rejected() -> None:
    gain = compared(Pair(side(2398.0), side(1.0)) for _ in range(60))
    assert (gain.decision, gain.rounds) == ("accept", 3)
    assert gain.low > 2000
    loss = compared(Pair(side(1.0), side(4.0)) for _ in range(60))
    assert (loss.decision, loss.rounds) == ("reject", 3)
    uneven = [Pair(side(9.0), side(1.0)), Pair(side(9.0), side(1.0)), Pair(side(1.0), side(1.0))]
    assert compared(uneven).decision == "undecided", "noise may do that twice, not always"


def test_what_new_calls_do_not_show_by_themselves_is_not_accepted() -> None:
    """The figures of new calls are too noisy to prove a cache, and to prove a gain."""
    noise = (0.2, 4.0, 0.5, 3.0, 0.3, 2.0, 0.25, 5.0)
    pairs = [Pair(side(1.5, new=20.0), side(1.0, new=20.0 * each)) for each in noise * 3]
    speed = compared(pairs)
    assert speed.decision == "undecided"
    assert "new ones do not show that" in speed.reason


# -- size classes --------------------------------------------------------------------------------


def by_size(small: float, large: float, noise: float = 0.02) -> Pair:
    """An original that takes 1 for each class, and a candidate that is so many times as fast."""

    def one(*classes: float) -> Measurement:
        noisy = tuple(each * float(RNG.normal(1, noise)) for each in classes)
        return Measurement(seconds=sum(noisy), classes=noisy)

    return Pair(one(0.01, 1.0), one(0.01 / small, 1.0 / large))


def sized(pairs: Iterable[Pair], accept: Accept = Accept()) -> Speed:  # noqa: B008
    comparison = Comparison(accept, Tolerance(), ("size 1 to 3", "size 300 to 400"))
    for pair in pairs:
        comparison.add(pair)
        if comparison.decision is not None:
            break
    if comparison.decision is None:
        comparison.give_up(60.0)
    return comparison.speed(1.0)


@pytest.mark.parametrize(("small", "large"), [(0.22, 1.5), (0.07, 9.0), (0.8, 1.5)])
def test_who_is_slower_for_small_calls_is_not_accepted_unless_that_is_allowed(
    small: float, large: float
) -> None:
    speed = sized(by_size(small, large) for _ in range(60))
    assert speed.decision == "reject"
    assert "slower for calls of some sizes" in speed.reason
    assert "at size 1 to 3" in speed.reason
    assert speed.ratio > 1.3, "in total it is faster"
    assert [each.name for each in speed.classes] == ["size 1 to 3", "size 300 to 400"]
    assert [each.ratio for each in speed.classes] == pytest.approx([small, large], rel=0.1)
    allowed = sized((by_size(small, large) for _ in range(60)), Accept(allow_slower=True))
    assert allowed.decision == "accept"
    assert "at size 1 to 3" in allowed.reason, "it is told all the same"


def test_who_is_as_fast_for_small_calls_is_accepted_however_noisy_they_are() -> None:
    for noise in (0.02, 0.4):
        pairs = (by_size(1.0, 1.0, noise) for _ in range(60))
        small = [Pair(replace(each.baseline, seconds=2.0), replace(each.candidate, seconds=1.0))
                 for each in pairs]  # fmt: skip
        assert sized(small).decision == "accept"


def test_a_loss_for_small_calls_is_told_whatever_new_calls_show() -> None:
    pairs = [by_size(0.1, 9.0) for _ in range(60)]
    noise = (0.2, 4.0, 0.5, 3.0, 0.3)
    cold = [
        Pair(replace(each.baseline, new_s=1.0), replace(each.candidate, new_s=noise[n % 5]))
        for n, each in enumerate(pairs)
    ]
    speed = sized(cold)
    assert (speed.decision, "at size 1 to 3" in speed.reason) == ("reject", True)


def test_some_nanoseconds_more_for_an_empty_list_are_told_and_turn_nothing_away() -> None:
    def pair(small: float) -> Pair:
        noise = float(RNG.normal(1, 0.01))
        mine, theirs = (40e-9 * noise, 1e-3), (40e-9 / small, 1e-3 / 26)
        return Pair(Measurement(seconds=sum(mine), classes=mine),
                    Measurement(seconds=sum(theirs), classes=theirs))  # fmt: skip

    loss = sized(pair(0.79) for _ in range(60))
    assert loss.decision == "accept"
    assert re.search(r"\(which loses 1\d ns in all\)", loss.reason), loss.reason
    noise = sized(pair(0.97) for _ in range(60))
    assert (noise.decision, "loses" in noise.reason) == ("accept", False)
    assert sized(pair(0.2) for _ in range(60)).decision == "reject", "overwhelming all the same"


def test_an_early_look_waits_for_classes_that_may_be_slower() -> None:
    speed = sized(by_size(0.8, 40.0) for _ in range(60))
    assert (speed.decision, speed.rounds) == ("reject", FIRST)


def test_a_size_is_written_shortly() -> None:
    def named(least: int, most: int) -> str:
        return CallClass(calls=(0,), least=least, most=most, loops=1).name

    assert [named(1, 3), named(7, 7), named(5, 10**400)] == [
        "size 1 to 3", "size 7", "size 5 to 1.0e+300",
    ]  # fmt: skip


# -- noise ---------------------------------------------------------------------------------------


def test_noise_says_what_can_be_told_within_the_budget_and_warns() -> None:
    pairs = [Pair(Measurement(seconds=float(s)), Measurement(seconds=1.0)) for s in
             (0.9, 1.1, 0.95, 1.05, 1.2, 0.8, 1.0, 1.1)]  # fmt: skip
    noise = noise_of(pairs, Accept(), budget_s=60.0, spent_s=8.0)
    assert noise.spread == pytest.approx(0.1, abs=0.02)
    assert 1.05 < noise.smallest_gain < 1.2
    assert "smaller ones stay undecided" in noise.warnings[0]
    steady = Pair(Measurement(seconds=1.0), Measurement(seconds=1.001))
    assert noise_of([steady] * 8, Accept(), 60, 8).warnings == ()
    slow = noise_of(pairs[:2], Accept(), budget_s=60.0, spent_s=40.0)
    assert "8 pairs take about 160 s" in slow.warnings[0]


def _beside_one(seconds: float) -> Pair:
    return Pair(Measurement(seconds=float(seconds)), Measurement(seconds=1.0))


@pytest.mark.parametrize("pairs", [20, 60])
def test_the_smallest_gain_is_the_one_that_is_really_told(pairs: int) -> None:
    """Simulated: a gain of that size is told from 1 about as often as not, a double one mostly."""
    spread = 0.05
    gain = smallest_gain(spread, pairs, Accept(speedup=1.0))
    accepted, rng = [], numpy.random.default_rng(11)
    for factor in (1.0, 2.0):
        rows = rng.normal(factor * numpy.log(gain), spread / 0.6745, (60, pairs))
        told = [compared(map(_beside_one, numpy.exp(row)), Accept(speedup=1.0)) for row in rows]
        accepted.append(sum(speed.decision == "accept" for speed in told) / len(told))
    assert 0.25 <= accepted[0] <= 0.85
    assert accepted[1] >= 0.95
