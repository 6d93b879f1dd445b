"""What other samplers get wrong, one after the other, and what is right."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from fanwise import Budget, Caps, open_run
from fanwise.errors import (
    BadVerdict,
    BudgetExceeded,
    DeadlinePassed,
    FanwiseError,
    ModelOverloaded,
    ModelRateLimited,
    ModelRejected,
)
from fanwise.models import Message, Options, Price, Request
from fanwise.sampling import (
    Draft,
    Escalate,
    Majority,
    Repair,
    Strategy,
    Verdict,
    judge,
    require,
    reward,
    sample,
)
from fanwise.testing import Answer, ScriptedModel, ScriptedServer, virtual_time
from tests.models.support import model_of, run

from .support import BAD, GOOD, by_turn, good, is_good, is_judge, judge_says, seeds, verdict

# -- 1: cancelled requests keep running --


def test_1_the_losers_connections_are_closed_before_sample_returns() -> None:
    async def main() -> None:
        answers: list[Answer | str] = [GOOD, *[Answer(text="a b", chunk_s=1_000)] * 4]
        async with ScriptedServer(answers) as server:
            server.gate.close()
            async with asyncio.TaskGroup() as tasks:
                sampling = tasks.create_task(
                    sample(model_of(server), "x", [good], concurrency_budget=5)
                )
                await server.gate.held(5)
                server.gate.open()
            result = sampling.result()
            assert (result.ok, result.errors) == (True, ())
            await server.idle()
            assert (len(server.requests), server.most_in_flight) == (5, 5)
            assert (server.disconnects, server.in_flight) == (4, 0)
            # Nobody was served to the end but the winner.
            assert server.output_tokens <= 5

    run(main())


# -- 2: an error in a later iteration is swallowed --


@virtual_time
async def test_2_an_error_after_a_failed_iteration_is_reported_and_its_budget_used() -> None:
    broken = ModelRejected("no such model")
    model = by_turn([BAD, broken], [BAD])
    result = await sample(model, "x", [good], loop_budget=5, concurrency_budget=2)
    assert not result.ok
    assert result.errors == (broken,)
    assert broken.__notes__ == ["chain 0, iteration 1"]
    assert len(model.requests) == 10


# -- 3: breadth collapses --


def test_3_the_budget_of_chains_that_died_goes_to_the_others() -> None:
    async def main() -> None:
        answers: list[Answer | str] = [*[Answer(status=400)] * 3, *[BAD] * 17]
        async with ScriptedServer(answers) as server:
            result = await sample(
                model_of(server), "x", [good], loop_budget=5, concurrency_budget=4
            )
            assert len(server.requests) == 20
            assert server.statuses == {400: 3, 200: 17}
            assert server.most_in_flight <= 4
            assert len(result.samples) == 17
            assert [type(error) for error in result.errors] == [ModelRejected] * 3
            assert len({each.id for each in result.samples}) == 17

    run(main())


# -- 4: judges are outside the bound --


@pytest.mark.parametrize("cap", [3, 2])
def test_4_with_five_judges_never_more_requests_are_in_flight_than_samples_or_the_cap(
    cap: int,
) -> None:
    async def main() -> None:
        async with ScriptedServer(lambda body: verdict(True) if is_judge(body) else BAD) as server:
            server.gate.close()
            model = model_of(server)
            judges = [judge(f"condition {number}") for number in range(5)]
            async with asyncio.TaskGroup() as tasks:
                sampling = tasks.create_task(
                    sample(
                        model,
                        "x",
                        # All have to be judged, and none is good in the end.
                        [*judges, judge("never", model=ScriptedModel(judge_says(lambda _: False)))],
                        concurrency_budget=3,
                        loop_budget=1,
                        strategy="rejection",
                        caps=Caps(all=cap),
                    )
                )
                await server.gate.held(cap)
                server.gate.open()
            assert not sampling.result().ok
            assert not sampling.result().errors
            drafts = [body for body in server.bodies if not is_judge(body)]
            assert len(drafts) == 3
            # The three have the same text: whoever is first judged may share its verdicts.
            assert 5 <= len(server.requests) - len(drafts) <= 15
            assert server.most_in_flight == cap

    run(main())


# -- 5: an async validator always passes --


async def never(_: Draft) -> bool:
    return False


def hidden(draft: Draft) -> Awaitable[bool]:
    return never(draft)


class Callable_:  # noqa: N801
    async def __call__(self, _: Draft) -> bool:
        return False


@pytest.mark.parametrize("check", [never, hidden, lambda d: never(d), Callable_()])
@virtual_time
async def test_5_an_async_validator_that_says_no_is_a_no(check: Any) -> None:
    result = await sample(ScriptedModel(lambda _: GOOD), "x", [require(check, "c")])
    assert not result.ok
    assert [v.passed for v in result.sample.verdicts] == [False]


@pytest.mark.parametrize("answer", [None, 1, "yes", (1, "x"), (), Verdict("no")])  # type: ignore[arg-type]
@virtual_time
async def test_5_what_is_no_verdict_is_an_error_and_not_a_yes(answer: Any) -> None:
    with pytest.raises(BadVerdict, match="Return True, False"):
        await sample(ScriptedModel(lambda _: GOOD), "x", [require(lambda _: answer, "c")])


# -- 6: a sync validator blocks the loop --


def test_6_sync_validators_run_beside_each_other_and_beside_the_requests() -> None:
    at_once = threading.Barrier(4)

    def slow(_: Draft) -> bool:
        at_once.wait(timeout=30)  # broken, if they ran one after the other or on the loop
        return True

    async def main() -> None:
        async with ScriptedServer(lambda body: f"text {body['seed']}") as server:
            server.gate.close()
            async with asyncio.TaskGroup() as tasks:
                sampling = tasks.create_task(
                    sample(model_of(server), "x", [slow], strategy=Majority())
                )
                await server.gate.held(4)
                server.gate.open()
            result = sampling.result()
            assert result.ok
            assert len(result.samples) == 4
            assert (len(server.requests), server.most_in_flight) == (4, 4)

    run(main())


# -- 7: selecting from failures ignores scores --


def words(*wanted: str) -> list[Any]:
    def has(word: str) -> Any:
        return require(lambda draft: word in draft, f"has {word}", check_only=True)

    return [has(word) for word in wanted]


@pytest.mark.parametrize("order", [["z", "a b", "a"], ["a b", "a", "z"], ["a", "z", "a b"]])
@virtual_time
async def test_7_of_failures_the_one_that_meets_most_requirements_is_returned(
    order: list[str],
) -> None:
    model = by_turn([*order])
    result = await sample(model, "x", words("a", "b", "c"), concurrency_budget=1)
    assert not result.ok
    assert (result.text, result.sample.passed) == ("a b", 2)


# -- 8: the order of requirements is random --


@virtual_time
async def test_8_requirements_are_told_and_checked_in_declared_order_and_judges_last() -> None:
    asked: list[str] = []

    def noting(name: str) -> Any:
        def check(_: Draft) -> bool:
            asked.append(name)
            return True

        return require(check, name)

    def answer(request: Request) -> str:
        asked.append("judge")
        return verdict(True)

    names = [f"r{number}" for number in range(10)]
    checks = [noting(name) for name in names]
    model = ScriptedModel(lambda _: "x")
    first = judge("is polite", model=ScriptedModel(answer))
    result = await sample(model, "do", [first, *checks], concurrency_budget=1)
    assert result.ok
    assert asked == [*names, "judge"]
    told = "\n".join(f"- {name}" for name in ["is polite", *names])
    assert model.requests[0].messages[-1].content == f"do\n\nRequirements:\n{told}"
    assert [v.requirement for v in result.sample.verdicts] == [*names, "is polite"]


# -- 9: no seed per sample --


@virtual_time
async def test_9_each_sample_has_a_seed_of_its_own_and_they_are_the_same_on_every_run() -> None:
    async def texts(seed: int) -> list[str]:
        model = ScriptedModel(lambda request: f"{request.seed}")
        result = await sample(
            model, "x", [good], loop_budget=2, concurrency_budget=3, seed=seed,
            options=Options(temperature=0.0), strategy="rejection",
        )  # fmt: skip
        assert [each.text for each in result.samples] == [str(each.seed) for each in result.samples]
        return [each.text for each in result.samples]

    one, again, other = await texts(1), await texts(1), await texts(2)
    assert len(set(one)) == 6
    assert one == again
    assert not set(one) & set(other)


# -- 10: a sample that is being validated is lost --


@virtual_time
async def test_10_a_complete_sample_whose_check_was_cancelled_is_in_the_result() -> None:
    ended = []

    async def check(draft: Draft) -> bool:
        try:
            await asyncio.sleep(1_000 if draft == "slow" else 1)
        finally:
            ended.append(str(draft))
        return True

    model = by_turn(["slow"], [GOOD])
    result = await sample(model, "x", [check], concurrency_budget=2)
    assert result.text == GOOD
    assert [(s.text, s.checked, s.valid) for s in result.samples] == [
        ("slow", False, False),
        (GOOD, True, True),
    ]
    assert result.samples[0].reply.usage.output == 1
    assert ended == [GOOD, "slow"]


# -- 11: the vote raises at one error, and counts what is not valid --


@virtual_time
async def test_11_a_vote_counts_valid_samples_and_one_error_does_not_end_it() -> None:
    broken = ModelRejected("broken")
    rows: list[list[Any]] = [["wrong"], ["wrong"], ["wrong"], ["yes"], ["no"], ["yes"], [broken]]
    model = by_turn(*rows)
    result = await sample(
        model,
        "x",
        [require(lambda d: d in ("yes", "no"), "yes or no")],
        strategy=Majority(),
        loop_budget=1,
        concurrency_budget=7,
    )
    assert (result.ok, result.text) == (True, "yes")
    assert result.errors == (broken,)
    assert (len(model.requests), model.in_flight, model.cancelled) == (7, 0, 0)


# -- 12: requirements of the strategy replace those of the call --


@virtual_time
async def test_12_requirements_of_call_and_strategy_are_merged_each_once_in_order() -> None:
    one, two, three = (require(is_good, name) for name in ("one", "two", "three"))

    class Mine(Strategy):
        requirements = (two, three)

    model = ScriptedModel(lambda _: GOOD)
    result = await sample(model, "x", [one, two], strategy=Mine(), concurrency_budget=1)
    assert [v.requirement for v in result.sample.verdicts] == ["one", "two", "three"]
    assert model.requests[0].messages[0].content == "x\n\nRequirements:\n- one\n- two\n- three"


# -- 13: the context for validation is ignored --


@virtual_time
async def test_13_judges_and_functions_see_the_context_that_is_given_for_validation() -> None:
    context = [Message("system", "You are strict."), Message("user", "The source: 42.")]
    seen = []

    def note(draft: Draft) -> bool:
        seen.append((draft.context, [message.content for message in draft.messages]))
        return True

    judging = ScriptedModel(judge_says(lambda _: True))
    await sample(
        ScriptedModel(lambda _: GOOD),
        "the prompt",
        [note, judge("is grounded", model=judging)],
        validation_context=context,
        concurrency_budget=1,
    )
    assert seen == [(tuple(context), ["the prompt\n\nRequirements:\n- is grounded"])]
    (request,) = judging.requests
    assert request.messages[:2] == tuple(context)
    assert "is grounded" in request.messages[2].content
    assert "the prompt" not in request.messages[2].content


# -- 14: no retry, budget, deadline, persistence, dedupe, cheap checks first --


@virtual_time
async def test_14_a_refused_request_is_tried_again_after_the_time_it_was_told() -> None:
    model = ScriptedModel([ModelRateLimited("busy", retry_after=30), ModelOverloaded("down"), GOOD])
    result = await sample(model, "x", [good], concurrency_budget=1)
    assert result.ok
    assert not result.errors
    assert asyncio.get_running_loop().time() >= 30
    assert result.sample.backoff_s is not None
    assert result.sample.backoff_s >= 30
    assert result.sample.reply.ran_s == 0


@virtual_time
async def test_14_a_budget_of_dollars_ends_the_loop_with_what_there_is() -> None:
    model = ScriptedModel(lambda _: BAD, price=Price(input=0, output=1e6))
    spent = Budget(usd=3.5)
    result = await sample(
        model, "x", [good], loop_budget=10, concurrency_budget=2, budget=spent,
        options=Options(max_tokens=1), strategy="rejection",
    )  # fmt: skip
    assert not result.ok
    assert len(result.samples) == len(model.requests) == 3
    assert [type(error) for error in result.errors] == [BudgetExceeded] * 2
    assert spent.spent["usd"] == 3


@virtual_time
async def test_14_at_the_deadline_all_is_cancelled_and_the_best_so_far_returned() -> None:
    async def answer(request: Request) -> str:
        chain, iteration = seeds(2, 9)[request.seed or 0]
        await asyncio.sleep(10 if chain == 0 else 10_000)
        return f"{BAD} {iteration}"

    model = ScriptedModel(answer)
    result = await sample(model, "x", [good], concurrency_budget=2, deadline=25)
    assert asyncio.get_running_loop().time() == 25
    assert (result.ok, result.text) == (False, "bad 1")
    assert [type(error) for error in result.errors] == [DeadlinePassed]
    assert (model.in_flight, model.cancelled) == (0, 2)


def test_14_a_resumed_run_pays_for_no_recorded_sample_again(tmp_path: Path) -> None:
    answers = ScriptedModel(lambda request: f"{BAD} {request.seed}")

    main: Any = None

    async def interrupted(draft: Draft) -> bool:
        if len(answers.requests) == 3:
            main.cancel()  # as Ctrl-C does
            await asyncio.sleep(1_000)
        return False

    async def attempt(check: Any) -> Any:
        nonlocal main
        main = asyncio.current_task()
        with open_run("r", journal=tmp_path / "j.db") as run_:
            return await sample(
                answers, "x", [require(check, "c")], concurrency_budget=1, run=run_, loop_budget=5
            )

    with pytest.raises(asyncio.CancelledError):
        run(attempt(interrupted))
    assert len(answers.requests) == 3
    result = run(attempt(never))
    assert len(answers.requests) == 5
    assert len({request.seed for request in answers.requests}) == 5
    assert [each.id for each in result.samples] == [1, 2, 3, 4, 5]
    # Of another process's call nobody has measured here how long it waited.
    assert [each.queued_s is None for each in result.samples] == [True] * 3 + [False] * 2
    again = run(attempt(never))
    assert len(answers.requests) == 5
    assert again.to_json() == result.to_json()
    assert again.totals == result.totals


@pytest.mark.parametrize(
    "other",
    [
        {"requirements": [reward(len, 99, "fine")]},
        {"strategy": Repair("{answer}, because {failures}")},
        {"strategy": Escalate(ScriptedModel([]))},
        {"validation_context": [Message("user", "c")]},
        {"prompt": "y"},
    ],
)
def test_14_a_resume_takes_no_sample_of_another_question(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    model = ScriptedModel(lambda request: f"{request.seed}")

    async def attempt(**given: Any) -> Any:
        same = {"prompt": "x", "requirements": [reward(len, 1, "fine")], "concurrency_budget": 1}
        with open_run("r", journal=tmp_path / "j.db") as run_:
            return await sample(model, run=run_, loop_budget=1, **{**same, **given})

    run(attempt())
    run(attempt())
    assert len(model.requests) == 1
    run(attempt(**other))
    assert len(model.requests) == 2


def test_14_a_run_that_starts_nothing_more_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        with open_run("r", journal=tmp_path / "j.db") as run_:
            run_.halt("enough")
            await sample(ScriptedModel([]), "x", run=run_)

    with pytest.raises(FanwiseError, match="the run is halting"):
        run(main())


@virtual_time
async def test_14_a_deadline_that_passes_while_the_rest_is_cancelled_is_no_error() -> None:
    async def check(draft: Draft) -> bool:
        try:
            await asyncio.sleep(1_000 if draft == "slow" else 1)
        finally:
            await asyncio.sleep(10)
        return True

    result = await sample(
        by_turn([GOOD], ["slow"]), "x", [check], concurrency_budget=2, deadline=15
    )
    assert (result.text, result.errors) == (GOOD, ())


@virtual_time
async def test_14_the_same_text_is_judged_once() -> None:
    judging = ScriptedModel(judge_says(lambda _: False))
    model = by_turn(["a", "b", "a", "a"])
    result = await sample(
        model, "x", [judge("fine", model=judging)], loop_budget=4, concurrency_budget=1
    )
    assert len(judging.requests) == 2
    assert [each.same_as for each in result.samples] == [None, None, 1, 1]
    assert all(each.verdicts == result.samples[0].verdicts for each in result.samples)


@virtual_time
async def test_14_a_judge_is_asked_only_about_what_passed_the_cheap_checks() -> None:
    judging = ScriptedModel(judge_says(lambda _: True))
    model = by_turn([BAD, GOOD])
    wanted = [judge("fine", model=judging), good]
    result = await sample(model, "x", wanted, concurrency_budget=1)
    assert (len(judging.requests), result.ok) == (1, True)
    assert [v.requirement for v in result.samples[0].verdicts] == ["says good"]
    everything = await sample(model, "x", wanted, concurrency_budget=1, check_all=True)
    assert len(judging.requests) == 3
    assert [v.passed for v in everything.samples[0].verdicts] == [False, True]
