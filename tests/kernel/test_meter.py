"""What a call tells while it runs is known however it ends: done, failed, too slow, cancelled."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fanwise import Attempt, Budget, Halt, Outcome, Retry, Usage, call, fan_out, open_run
from fanwise.errors import AttemptTimeout
from fanwise.kernel import meter
from fanwise.testing import MemoryJournal, virtual_time

SPENT = Usage(1, 30, 0.5, input_tokens=20, output_tokens=10, cached_tokens=5)


async def streamed(*, first_s: float = 2.0, rest_s: float = 3.0, told: Usage | None = None) -> str:
    await asyncio.sleep(first_s)
    meter.first_token()
    if told is not None:
        meter.spent(told)
    await asyncio.sleep(rest_s)
    return "all of it"


async def one(n: int) -> str:
    return await call(streamed, estimate=Usage(tokens=100), usage=lambda _: None)


def calls(outcome: Outcome[Any]) -> list[Attempt]:
    return [attempt for attempt in outcome.attempts if attempt.call is not None]


@virtual_time
async def test_the_first_token_of_a_call_is_timed_from_the_start_of_its_attempt() -> None:
    [outcome] = await fan_out(one, range(1))
    [attempt] = calls(outcome)
    assert (attempt.first_token_s, attempt.ran_s) == (2.0, 5.0)


@virtual_time
async def test_only_the_first_token_counts_and_it_is_never_later_than_now() -> None:
    async def replayed() -> None:
        await asyncio.sleep(1)
        meter.first_token(60.0)
        meter.first_token(0.25)

    [outcome] = await fan_out(lambda _: call(replayed), range(1))
    assert calls(outcome)[0].first_token_s == 1.0


@virtual_time
async def test_a_call_that_is_too_slow_keeps_what_it_told() -> None:
    async def item(_: int) -> None:
        async def streaming() -> str:
            return await streamed(rest_s=1000, told=SPENT)

        with pytest.raises(AttemptTimeout):
            await call(streaming, timeout=10, usage=lambda _: None)

    [outcome] = await fan_out(item, range(1))
    [attempt] = calls(outcome)
    assert (attempt.first_token_s, attempt.usage) == (2.0, SPENT)
    assert isinstance(attempt.error, AttemptTimeout)


@virtual_time
async def test_a_cancelled_call_keeps_what_it_told_and_the_budget_counts_that() -> None:
    async def item(n: int) -> str:
        if n == 0:
            return await call(asyncio.sleep, 4, "won", usage=lambda _: Usage(tokens=1))
        told = SPENT if n == 1 else None
        return await call(
            lambda: streamed(rest_s=1000, told=told),
            estimate=Usage(tokens=100),
            usage=lambda _: None,
        )

    budget, journal = Budget(tokens=1000), MemoryJournal()
    async with open_run("r", journal=journal, budget=budget) as run:
        await fan_out(item, range(3), halt=Halt.on_success(fastest=True), run=run)
    rows = {row.key: row for row in journal.attempts(journal.fan_outs("r")[0].id) if row.call}
    assert [rows[key].first_token_s for key in "012"] == [None, 2.0, 2.0]
    assert (rows["1"].tokens, rows["1"].input_tokens, rows["1"].output_tokens) == (30, 20, 10)
    assert (rows["2"].tokens, rows["2"].input_tokens) == (None, None)
    assert budget.spent["tokens"] == 1 + 30 + 100, "what nobody knows counts as estimated"


@virtual_time
async def test_each_attempt_and_each_of_the_calls_at_once_has_a_meter_of_its_own() -> None:
    tries: list[int] = []

    async def once_silent() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("before the first token")
        await streamed(first_s=1.0)

    async def item(_: int) -> None:
        await asyncio.gather(
            call(once_silent, retry=Retry(1, base_s=0.0), name="a"),
            call(streamed, name="b"),
            call(asyncio.sleep, 9, name="c"),
        )

    [outcome] = await fan_out(item, range(1))
    told = sorted((a.call or "", a.first_token_s or 0.0) for a in calls(outcome))
    assert told == [("a", 0.0), ("a", 1.0), ("b", 2.0), ("c", 0.0)]


@virtual_time
async def test_what_the_work_told_counts_where_no_usage_was_asked_for() -> None:
    budget = Budget(tokens=1000)
    work = lambda _: call(lambda: streamed(told=SPENT), estimate=Usage(tokens=100))  # noqa: E731
    [outcome] = await fan_out(work, range(1), budget=budget)
    assert calls(outcome)[0].usage == SPENT
    assert budget.spent["tokens"] == 30


@virtual_time
async def test_outside_of_a_call_there_is_nobody_to_tell() -> None:
    assert await streamed(told=SPENT) == "all of it"
    [outcome] = await fan_out(lambda _: streamed(told=SPENT), range(1))
    assert outcome.attempts[0].first_token_s is None


@virtual_time
async def test_what_was_told_comes_back_from_the_journal() -> None:
    journal = MemoryJournal()
    found = []
    for _ in range(2):
        async with open_run("r", journal=journal) as run:
            work = lambda _: call(lambda: streamed(told=SPENT))  # noqa: E731
            [outcome] = await fan_out(work, range(1), run=run)
            found += calls(outcome)
    assert outcome.recorded
    assert found[0] == found[1]
    assert (found[1].usage, found[1].first_token_s) == (SPENT, 2.0)
