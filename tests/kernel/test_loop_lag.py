"""A call whose end was noticed late says so: the time of this process is not the model's."""

from __future__ import annotations

import asyncio
import time

import pytest

from fanwise import call, fan_out, open_run
from fanwise.core.outcome import Attempt, Outcome
from fanwise.journal.open import open_journal
from fanwise.kernel.loop_lag import BEAT_S
from fanwise.kernel.virtual_time import VirtualLoop, run_virtual


async def answer(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return seconds


async def ask(seconds: float) -> float:
    return await call(answer, seconds, name="model")


def model_call(outcome: Outcome[float]) -> Attempt:
    (found,) = [each for each in outcome.attempts if each.call == "model"]
    return found


def virtual_loop() -> VirtualLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop


def test_in_virtual_time_a_blocked_loop_is_the_lag_of_the_calls_that_end_in_it() -> None:
    async def main() -> list[Attempt]:
        loop = virtual_loop()
        loop.call_later(0.5, loop.block, 2.0)  # from 0.5 to 2.5 it sees nothing
        outcomes = await fan_out(ask, [1.0, 2.0, 4.0], cap=3)
        return [model_call(each) for each in outcomes]

    one, two, four = run_virtual(main())
    # Both answers were there at 1.0 and 2.0, and were seen at 2.5.
    assert (one.ran_s, two.ran_s) == (2.5, 2.5)
    assert (one.lag_s, two.lag_s) == (2.0, 2.0)
    # The pause was over before this one ended, and did it no harm.
    assert (four.ran_s, four.lag_s) == (4.0, 0.0)


def test_a_call_that_begins_late_counts_that_and_never_more_than_its_time() -> None:
    async def main() -> list[Attempt]:
        loop = virtual_loop()
        loop.block(0.3)
        outcomes = await fan_out(ask, [0.1, 1.0], cap=2)
        return [model_call(each) for each in outcomes]

    short, long = run_virtual(main())
    assert short.lag_s == pytest.approx(short.ran_s) == pytest.approx(0.1)
    assert long.lag_s == pytest.approx(0.3)


def test_without_blocks_there_is_no_lag_in_virtual_time() -> None:
    async def main() -> list[Attempt]:
        return [model_call(each) for each in await fan_out(ask, [0.5] * 50, cap=5)]

    assert {each.lag_s for each in run_virtual(main())} == {0.0}


def block(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


async def answer_behind_a_block(seconds: float) -> None:
    asyncio.get_running_loop().call_soon(block, 0.2)
    await asyncio.sleep(seconds)


def test_in_real_time_a_blocked_loop_is_measured() -> None:
    """The answer is there after 20 ms, and is seen after 200: the loop has to compute."""

    async def work(seconds: float) -> None:
        await call(answer_behind_a_block, seconds, name="model")

    async def main() -> Attempt:
        (outcome,) = await fan_out(work, [0.02], cap=1)
        (found,) = [each for each in outcome.attempts if each.call == "model"]
        return found

    found = asyncio.run(main())
    assert 0.15 <= found.lag_s <= found.ran_s  # a machine that is busy only makes both larger


def test_the_meter_rests_when_no_call_is_in_flight() -> None:
    async def main() -> int:
        await fan_out(ask, [0.001] * 3, cap=1)
        await asyncio.sleep(5 * BEAT_S)
        return len(asyncio.get_running_loop()._scheduled)  # type: ignore[attr-defined]

    assert asyncio.run(main()) == 0


def test_the_lag_is_stored_with_the_attempt_and_added_up(tmp_path: object) -> None:
    path = f"{tmp_path}/journal.db"

    async def main() -> None:
        loop = virtual_loop()
        async with open_run("r", journal=path) as run:
            loop.call_later(0.5, loop.block, 2.0)
            await fan_out(ask, [1.0, 4.0], cap=2, run=run)
        async with open_run("r", journal=path) as run:  # what is recorded is read back
            outcomes = await fan_out(ask, [1.0, 4.0], cap=2, run=run)
            assert [model_call(each).lag_s for each in outcomes] == [2.0, 0.0]

    run_virtual(main())
    journal = open_journal(path, read_only=True)
    try:
        totals = journal.call_totals("r")
        assert (totals.attempts, totals.slowed, totals.lag_s) == (2, 1, 2.0)
        assert totals.in_flight == 2
    finally:
        journal.close()
