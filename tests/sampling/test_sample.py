"""What `sample` promises beside the anchors: who wins, what is kept, how it fails."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise import Caps, fan_out, open_run
from fanwise.errors import (
    FanwiseError,
    ModelRefused,
    ModelRejected,
    NotOk,
    SamplingFailed,
    UsageError,
)
from fanwise.models import Message, Options, Request
from fanwise.sampling import (
    Draft,
    Hooks,
    LoopStart,
    SampleResult,
    Verdict,
    require,
    reward,
    sample,
    sample_sync,
)
from fanwise.testing import MemoryJournal, ScriptedModel, run_virtual, virtual_time

from .support import BAD, GOOD, by_turn, good, seeds

# -- who wins --


def timed(table: dict[tuple[int, int], tuple[float, str]]) -> ScriptedModel:
    """By chain and iteration: how long the model takes, and what it says."""
    places = seeds(4, 20)

    async def answer(request: Request) -> str:
        seconds, text = table.get(places[request.seed or 0], (1.0, BAD))
        await asyncio.sleep(seconds)
        return text

    return ScriptedModel(answer)


@virtual_time
async def test_the_fastest_valid_sample_wins_and_the_rest_is_cancelled_then() -> None:
    model = timed({(0, 0): (50, GOOD), (1, 0): (1, BAD), (1, 1): (2, f"{GOOD} 1"), (2, 0): (9, "")})
    result = await sample(model, "x", [good], concurrency_budget=3)
    assert (result.text, result.sample.chain, result.sample.iteration) == (f"{GOOD} 1", 1, 1)
    assert asyncio.get_running_loop().time() == 3
    assert (model.in_flight, model.cancelled) == (0, 2)
    assert [each.id for each in result.samples] == [4, 5]


@virtual_time
async def test_the_first_in_order_wins_though_others_are_faster() -> None:
    model = timed({(0, 0): (50, GOOD), (1, 0): (1, f"{GOOD} 1"), (2, 0): (1_000, GOOD)})
    result = await sample(model, "x", [good], concurrency_budget=3, winner="first")
    assert (result.sample.chain, result.sample.iteration) == (0, 0)
    # Nobody waits for the third: it comes after the winner.
    assert asyncio.get_running_loop().time() == 50


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 2), st.integers(0, 3)),
        st.sampled_from([BAD, BAD, GOOD, "error"]),
    ),
    st.lists(st.integers(1, 9), min_size=12, max_size=12),
    st.lists(st.integers(1, 9), min_size=12, max_size=12),
)
def test_the_first_in_order_is_the_same_at_any_speed(
    table: dict[tuple[int, int], str], speeds: list[int], others: list[int]
) -> None:
    def result(pace: list[int]) -> Any:
        places = seeds(3, 20)

        async def answer(request: Request) -> Any:
            chain, iteration = places[request.seed or 0]
            await asyncio.sleep(pace[(chain * 4 + iteration) % 12])
            said = table.get((chain, iteration), BAD)
            return ModelRejected("x") if said == "error" else f"{said} {chain} {iteration}"

        async def main() -> Any:
            try:
                found = await sample(
                    ScriptedModel(answer), "x", [good], loop_budget=4, concurrency_budget=3,
                    winner="first", strategy="rejection",
                )  # fmt: skip
            except BaseExceptionGroup as group:
                return len(group.exceptions)
            return found.ok, found.text

        return run_virtual(main())

    assert result(speeds) == result(others)


@virtual_time
async def test_every_sample_has_its_place_its_id_its_verdicts_its_cost_and_its_times() -> None:
    model = timed({(0, 0): (2, BAD), (0, 1): (3, GOOD)})
    (result,) = (
        await fan_out(
            lambda _: sample(model, "say it", [good], concurrency_budget=1),
            [0],
            caps=Caps(scripted=1),
        )
    ).values()
    first, second = result.samples
    assert [(s.id, s.chain, s.iteration) for s in result.samples] == [(1, 0, 0), (2, 0, 1)]
    assert [s.valid for s in result.samples] == [False, True]
    assert first.verdicts == (Verdict(False, "it fails: says good", None, "says good"),)
    assert first.failures == ["it fails: says good"]
    assert (first.reply.usage.input, first.reply.usage.output) == (2, 1)
    assert [s.reply.ran_s for s in result.samples] == [2, 3]
    assert (first.queued_s, first.backoff_s, first.checked_s) == (0, 0, 0)
    assert second.messages[0].content.startswith("say it")
    assert first.model == "scripted:model"
    assert (result.totals.samples, result.totals.requests, result.totals.unknown) == (2, 2, 0)
    assert result.totals.tokens == sum(s.reply.usage.total or 0 for s in result.samples)
    assert result.totals.usd is None  # nobody told the price: unknown, and not 0


@virtual_time
async def test_time_saved_is_told_against_one_after_the_other() -> None:
    table = {(chain, 0): (10.0, f"{BAD} {chain}") for chain in range(4)}
    result = await sample(timed(table), "x", [good], loop_budget=1)
    assert (result.totals.elapsed_s, result.totals.sequential_s) == (10, 40)
    assert result.totals.saved_s == 30

    async def slow(draft: Draft) -> bool:
        await asyncio.sleep(5)
        return False

    result = await sample(timed(table), "x", [slow], loop_budget=1)
    assert (result.totals.elapsed_s, result.totals.sequential_s) == (15, 60)


@virtual_time
async def test_what_ends_beside_the_winner_is_kept_checked_or_not_and_its_errors_too() -> None:
    told: list[int] = []

    async def check(draft: Draft) -> bool:
        if draft == GOOD:
            await asyncio.sleep(1)
            return True
        try:
            await asyncio.sleep(1_000)
        except asyncio.CancelledError:
            if draft == "broken":
                raise RuntimeError("too late") from None
        return False  # it swallows the cancellation, and comes to a verdict all the same

    model = by_turn([GOOD], ["stubborn"], ["broken"])
    result = await sample(
        model,
        "x",
        [check],
        concurrency_budget=3,
        hooks=Hooks(iteration=lambda s: told.append(s.id)),
    )
    assert result.text == GOOD
    assert [(s.text, s.checked, s.valid) for s in result.samples] == [
        (GOOD, True, True),
        ("stubborn", True, False),
        ("broken", False, False),
    ]
    assert [str(error) for error in result.errors] == ["too late"]
    assert told == [1, 4]


@virtual_time
async def test_calls_that_were_cancelled_count_and_nobody_knows_their_tokens() -> None:
    model = timed({(0, 0): (1, GOOD), (1, 0): (9, GOOD), (2, 0): (9, GOOD), (3, 0): (9, GOOD)})
    result = await sample(model, "x", [good])
    assert (result.totals.samples, result.totals.requests, result.totals.unknown) == (1, 4, 3)


# -- how it fails --


@virtual_time
async def test_when_all_chains_raise_and_there_is_no_sample_all_errors_come_out() -> None:
    errors = [ModelRejected(f"{n}") for n in range(3)]
    rows: list[list[Any]] = [[error] for error in errors]
    with pytest.raises(SamplingFailed, match="all 3 chains failed") as caught:
        await sample(by_turn(*rows), "x", [good], concurrency_budget=3)
    assert caught.value.errors == tuple(errors)
    assert caught.value.reasons == ["ModelRejected: 0", "ModelRejected: 1", "ModelRejected: 2"]


@virtual_time
async def test_errors_of_siblings_are_reported_beside_a_success() -> None:
    refused = ModelRefused("no")
    result = await sample(by_turn([refused], [BAD, GOOD]), "x", [good], concurrency_budget=2)
    assert result.ok
    assert result.errors == (refused,)


@virtual_time
async def test_errors_are_in_the_order_of_their_chains_and_not_of_time() -> None:
    late, early = ModelRefused("late"), ModelRefused("early")
    result = await sample(by_turn([BAD, late], [early], [BAD]), "x", [good], concurrency_budget=3)
    assert result.errors == (late, early)


@virtual_time
async def test_of_equal_failures_the_latest_is_that_of_the_highest_iteration() -> None:
    model = by_turn(["a", "b"], ["c", ModelRejected("no")])
    result = await sample(model, "x", [good], loop_budget=2, concurrency_budget=2)
    assert [each.id for each in result.samples] == [1, 2, 3]
    assert result.text == "b"


@virtual_time
async def test_a_validator_that_raises_ends_its_chain_and_its_sample_is_kept() -> None:
    def check(draft: Draft) -> bool:
        if draft == "odd":
            raise RuntimeError("cannot check this")
        return GOOD in draft

    result = await sample(by_turn(["odd"], [GOOD]), "x", [check], concurrency_budget=2)
    assert result.ok
    assert [str(error) for error in result.errors] == ["cannot check this"]
    assert [(each.text, each.checked) for each in result.samples] == [("odd", False), (GOOD, True)]


@virtual_time
async def test_of_equal_failures_the_better_score_is_chosen_and_then_the_latest() -> None:
    scores = {"a": 0.1, "b": 0.5, "c": 0.5, "d": 0.2}
    wanted = reward(lambda draft: scores[draft], at_least=0.9)
    result = await sample(
        by_turn(["a", "b", "c", "d"]), "x", [wanted], loop_budget=4, concurrency_budget=1
    )
    assert result.text == "c"
    assert result.sample.verdicts[0].score == 0.5
    assert result.sample.failures == ["it scored 0.5, but needs at least 0.9"]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"loop_budget": 0}, "loop_budget"),
        ({"concurrency_budget": 0}, "concurrency_budget"),
        ({"winner": "best"}, "fastest"),
        ({"strategy": "repeair"}, "Did you mean 'repair'"),
        ({"seed": -1}, "seed"),
        ({"deadline": 0}, "deadline"),
        ({"strategy": "escalate"}, "escalate needs a model"),
        ({"options": {"temperature": 0}}, "options is"),
        ({"hooks": {"end": print}}, "hooks is"),
        ({"validation_context": ["hello"]}, "a message is 'hello'"),
        ({"requirements": [3]}, "a requirement is 3"),
        ({"requirements": [{"type": "nothing"}]}, "schema"),
    ],
)
@virtual_time
async def test_bad_arguments_are_refused_before_anything_is_asked(
    bad: dict[str, Any], words: str
) -> None:
    model = ScriptedModel(lambda _: GOOD)
    requirements = bad.pop("requirements", [good])
    with pytest.raises(ValueError, match=words) as caught:
        await sample(model, "x", requirements, **bad)
    assert isinstance(caught.value, FanwiseError)
    assert not model.requests


def test_hooks_are_told_of_the_start_each_sample_each_repair_and_the_end() -> None:
    told: list[Any] = []

    def start(news: LoopStart) -> None:
        told.append(("start", news.loop_budget, news.concurrency_budget))
        news.loop_budget, news.concurrency_budget = 2, 1

    async def iteration(each: Any) -> None:
        await asyncio.sleep(0)
        told.append(("sample", each.id, each.valid))

    hooks = Hooks(
        start,
        iteration,
        lambda news: told.append(("repair", news.failed.id, len(news.turn.request.messages))),
        lambda result: told.append(_end(result)),
    )

    async def main() -> SampleResult:
        return await sample(by_turn([BAD, GOOD]), "x", [good], hooks=hooks)

    def _end(result: SampleResult | BaseException) -> tuple[str, bool, int]:
        assert isinstance(result, SampleResult)
        return "end", result.ok, result.totals.requests

    result = run_virtual(main())
    assert told == [
        ("start", 3, 4),
        ("sample", 1, False),
        ("repair", 1, 1),
        ("sample", 2, True),
        ("end", True, 2),
    ]
    assert (result.loop_budget, result.concurrency_budget) == (2, 1)


@pytest.mark.parametrize("name", ["loop_budget", "concurrency_budget"])
@virtual_time
async def test_a_hook_that_sets_a_budget_below_one_is_an_error(name: str) -> None:
    model = ScriptedModel(lambda _: GOOD)
    with pytest.raises(ValueError, match=name):
        await sample(model, "x", [good], hooks=Hooks(start=lambda news: setattr(news, name, 0)))
    assert not model.requests


@pytest.mark.parametrize("which", ["start", "iteration", "repair", "end"])
@virtual_time
async def test_an_error_in_a_hook_comes_out_and_leaves_nothing_in_flight(which: str) -> None:
    def broken(_: Any) -> None:
        raise RuntimeError("broken hook")

    model = timed({(0, 1): (1, GOOD), (1, 0): (100, BAD)})
    with pytest.raises(RuntimeError, match="broken hook"):
        await sample(model, "x", [good], concurrency_budget=2, hooks=Hooks(**{which: broken}))
    assert model.in_flight == 0
    assert len(asyncio.all_tasks()) == 1


@virtual_time
async def test_cancelling_the_caller_cancels_and_awaits_all_calls() -> None:
    model = timed({(chain, 0): (1_000, BAD) for chain in range(4)})
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await sample(model, "x", [good])
    assert (model.in_flight, model.cancelled) == (0, 4)


# -- what it takes and gives --


def test_without_an_event_loop() -> None:
    result = sample_sync(ScriptedModel([GOOD]), "x", [good], concurrency_budget=1)
    assert result.text == GOOD


@virtual_time
async def test_without_requirements_the_first_reply_wins() -> None:
    result = await sample(ScriptedModel(["anything"]), "x", concurrency_budget=1)
    assert (result.ok, result.text) == (True, "anything")


@virtual_time
async def test_messages_options_and_whole_requests_are_taken_as_prompts() -> None:
    model = ScriptedModel(lambda _: GOOD)
    talk = [Message("system", "be brief"), Message("user", "hi")]
    await sample(model, talk, concurrency_budget=1, options=Options(max_tokens=7))
    assert model.requests[0].messages == tuple(talk)
    assert model.requests[0].options.max_tokens == 7
    schema = {"enum": ["a", "b"]}
    other = by_turn(['"c"', '"a"'])
    result = await sample(other, Request(tuple(talk), schema=schema), concurrency_budget=1)
    assert (result.ok, result.value, len(other.requests)) == (True, "a", 2)
    assert other.requests[0].schema == schema


@virtual_time
async def test_a_result_survives_the_way_through_json() -> None:
    model = by_turn([ModelRefused("no")], [BAD, '{"a": 1} good'])
    result = await sample(model, "x", [good], concurrency_budget=2)
    again = SampleResult.from_json(result.to_json())
    assert again.to_json() == result.to_json()
    assert again.text == result.text
    assert [type(error).__name__ for error in again.errors] == ["RecordedError"]


@virtual_time
async def test_a_strategy_that_selects_what_it_was_not_given_is_an_error() -> None:
    from fanwise.sampling import Strategy

    class Inventing(Strategy):
        gathers = True

        def select(self, samples: Any) -> Any:
            return "mine"

    with pytest.raises(UsageError, match=r"Inventing\.select"):
        await sample(ScriptedModel(lambda _: GOOD), "x", [good], strategy=Inventing())


@virtual_time
async def test_nested_in_a_fan_out_all_samples_share_its_caps() -> None:
    model = timed({})
    outcomes = await fan_out(
        lambda n: sample(model, f"prompt {n}", [good], loop_budget=2),
        range(5),
        caps=Caps(scripted=3),
    )
    assert [o.status for o in outcomes] == ["done"] * 5
    assert model.most_in_flight == 3
    assert len(model.requests) == 5 * 4 * 2
    # 40 calls of a second each, three at once, without a pause.
    assert asyncio.get_running_loop().time() == 14


PROGRAM = """
from fanwise.sampling import sample_sync
from fanwise.testing import ScriptedModel
sample_sync(ScriptedModel(["good"]), "x", [lambda text: True], concurrency_budget=1, progress=True)
"""


def test_the_bar_is_drawn_on_a_terminal_and_only_there() -> None:
    program = [sys.executable, "-c", PROGRAM]
    piped = subprocess.run(program, capture_output=True, timeout=60, check=True)
    assert (piped.stdout, piped.stderr) == (b"", b"")
    primary, secondary = os.openpty()
    subprocess.run(program, stderr=secondary, timeout=60, check=True)
    os.set_blocking(primary, False)
    drawn = os.read(primary, 1 << 16).decode()
    os.close(secondary)
    os.close(primary)
    assert "1 of 1 requirements met" in drawn


@virtual_time
async def test_a_function_may_give_a_verdict_with_a_score_and_a_reason() -> None:
    def check(draft: Draft) -> Verdict:
        return Verdict(False, "too short", 0.25)

    def pair(draft: Draft) -> tuple[bool, str]:
        return False, f"{draft} will not do"

    result = await sample(
        ScriptedModel(lambda _: BAD), "x", [check, require(pair, "p")], concurrency_budget=1
    )
    assert result.sample.verdicts == (
        Verdict(False, "too short", 0.25, "check"),
        Verdict(False, "bad will not do", None, "p"),
    )
    assert result.sample.score == 0.25


@virtual_time
async def test_what_was_checked_before_a_check_raised_counts_for_the_best_failure() -> None:
    def broken(draft: Draft) -> bool:
        if "two" in draft:
            raise RuntimeError("cannot check this")
        return False

    def is_two(draft: Draft) -> bool:
        return "two" in draft

    result = await sample(
        by_turn(["two"], ["none"]), "x", [is_two, broken], concurrency_budget=2, loop_budget=1
    )
    assert (result.ok, result.text) == (False, "two")
    assert [v.passed for v in result.samples[0].verdicts] == [True]
    assert not result.samples[0].checked


@virtual_time
async def test_a_loser_whose_check_gives_no_verdict_does_not_take_the_winner_away() -> None:
    async def check(draft: Draft) -> Any:
        if draft == GOOD:
            return True
        try:
            await asyncio.sleep(1_000)
        except asyncio.CancelledError:
            return None  # swallows the cancellation, and says neither yes nor no
        return False

    result = await sample(by_turn(["slow"], [GOOD]), "x", [check], concurrency_budget=2)
    assert (result.ok, result.text) == (True, GOOD)
    assert [type(error).__name__ for error in result.errors] == ["BadVerdict"]


# -- the arguments and the result that all entry points have ------------------------------------


@virtual_time
async def test_its_width_is_a_cap_and_the_word_of_other_samplers_means_the_same() -> None:
    widths: list[dict[str, Any]] = [{"cap": 2}, {"concurrency_budget": 2}]
    for width in widths:
        result = await sample(ScriptedModel(lambda _: BAD), "?", [good], loop_budget=1, **width)
        assert len(result.samples) == 2
    with pytest.raises(UsageError, match="Give one of them"):
        await sample(ScriptedModel([]), "?", cap=2, concurrency_budget=2)
    with pytest.raises(UsageError, match="cap is 0"):
        await sample(ScriptedModel([]), "?", cap=0)


@virtual_time
async def test_a_result_without_a_valid_sample_is_not_ok_and_says_why() -> None:
    result = await sample(ScriptedModel(lambda _: BAD), "?", [good], loop_budget=2, cap=1)
    assert (result.ok, result.run_id, len(result.failures)) == (False, None, 2)
    assert result.stats.peak["total"] == 1
    with pytest.raises(NotOk, match="none of 2 samples is valid; the best: it fails: says good"):
        result.require()


@virtual_time
async def test_a_sample_in_a_durable_run_has_its_id_and_its_stats_after_a_resume_too() -> None:
    model, journal = ScriptedModel(["yes"]), MemoryJournal()
    for _ in range(2):
        async with open_run("monday", journal=journal) as run:
            result = (await sample(model, "?", run=run, cap=1)).require()
        assert (result.run_id, result.text, result.stats.peak["total"]) == ("monday", "yes", 1)
