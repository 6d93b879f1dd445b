"""The faithful halt: the outcomes of a sequential run, whatever finished first."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fanwise import Halt, Outcome, Retry, fan_out
from fanwise.errors import BadPredicate
from fanwise.testing import virtual_time


class Boom(Exception):
    pass


class Play:
    """Items that take a given time and may fail; keeps who was cancelled and awaited."""

    def __init__(self, seconds: dict[int, float], fails: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        self.seconds = seconds
        self.fails = fails
        self.started: list[int] = []
        self.finished: list[int] = []
        self.cancelled: list[int] = []

    async def __call__(self, item: int) -> int:
        self.started.append(item)
        try:
            await asyncio.sleep(self.seconds[item])
        except asyncio.CancelledError:
            await asyncio.sleep(1)  # cleaning up takes time, and is awaited
            self.cancelled.append(item)
            raise
        self.finished.append(item)
        if item in self.fails:
            raise Boom(item)
        return item


def brief(outcomes: Any) -> list[tuple[int, str]]:
    return [(outcome.index, outcome.status) for outcome in outcomes]


@virtual_time
async def test_items_that_finish_in_reverse_order_come_back_in_item_order() -> None:
    play = Play({item: 10.0 - item for item in range(10)})
    outcomes = await fan_out(play, range(10), cap=10)
    assert play.finished == list(reversed(range(10)))
    assert outcomes.values() == list(range(10))
    assert [o.ran_s for o in outcomes] == pytest.approx([10.0 - item for item in range(10)])


@virtual_time
async def test_of_two_failures_the_earlier_item_halts_though_it_finishes_last() -> None:
    play = Play(dict.fromkeys(range(8), 5.0) | {1: 9.0, 3: 1.0}, fails={1, 3})
    outcomes = await fan_out(play, range(8), cap=4, halt=Halt.on_failure())
    assert brief(outcomes) == [(0, "done"), (1, "failed")]
    assert outcomes.halted_by is not None
    assert outcomes.halted_by.index == 1
    assert 4 not in play.started, "something was started after the halt"


@virtual_time
async def test_at_a_halt_earlier_items_go_on_started_or_not() -> None:
    """Item 1 waits for a cap when item 2 fails: a sequential run would have run it, so it runs."""
    from fanwise import Caps

    play = Play({0: 5.0, 1: 5.0, 2: 1.0, 3: 50.0}, fails={2})
    outcomes = await fan_out(
        play, range(4), cap=4, caps=Caps(a=1), halt=Halt.on_failure(),
        needs=lambda item: "a" if item < 2 else None,
    )  # fmt: skip
    assert brief(outcomes) == [(0, "done"), (1, "done"), (2, "failed")]
    assert play.finished == [2, 0, 1]


@virtual_time
async def test_what_runs_after_the_halt_is_cancelled_and_awaited() -> None:
    play = Play(dict.fromkeys(range(6), 50.0) | {0: 1.0, 1: 2.0}, fails={1})
    outcomes = await fan_out(play, range(6), cap=6, halt=Halt.on_failure())
    assert brief(outcomes) == [(0, "done"), (1, "failed")]
    assert sorted(play.cancelled) == [2, 3, 4, 5], "a cancelled item was not awaited"
    assert brief(outcomes.discarded) == [(i, "cancelled") for i in (2, 3, 4, 5)]
    assert outcomes.stats.makespan_s == pytest.approx(3.0)


@virtual_time
async def test_an_item_after_the_halt_that_had_finished_is_kept_aside_not_lost() -> None:
    play = Play({0: 5.0, 1: 1.0}, fails={0})
    outcomes = await fan_out(play, range(2), cap=2, halt=Halt.on_failure())
    assert brief(outcomes) == [(0, "failed")]
    assert [o.value for o in outcomes.discarded] == [1]


@virtual_time
async def test_the_first_success_in_item_order_wins_the_same_on_every_run() -> None:
    play = Play({0: 9.0, 1: 8.0, 2: 1.0}, fails={0})
    outcomes = await fan_out(play, range(3), cap=3, halt=Halt.on_success())
    assert outcomes.winner is not None
    assert outcomes.winner.value == 1
    assert brief(outcomes) == [(0, "failed"), (1, "done")]


@virtual_time
async def test_with_fastest_the_first_to_finish_wins_and_the_errors_beside_it_are_told() -> None:
    play = Play(dict.fromkeys(range(9), 9.0) | {1: 1.0, 2: 2.0}, fails={1})
    outcomes = await fan_out(play, range(9), cap=4, halt=Halt.on_success(fastest=True))
    assert outcomes.winner is not None
    assert outcomes.winner.value == 2
    assert [o.index for o in outcomes.failures] == [1]
    assert isinstance(outcomes.failures[0].error, Boom)
    assert sorted(play.cancelled) == [0, 3, 4]


@virtual_time
async def test_nobody_wins_when_all_fail() -> None:
    play = Play(dict.fromkeys(range(3), 1.0), fails={0, 1, 2})
    outcomes = await fan_out(play, range(3), cap=2, halt=Halt.on_success())
    assert outcomes.winner is None
    assert outcomes.halted_by is None
    assert len(outcomes.failures) == 3
    with pytest.raises(ExceptionGroup) as caught:
        outcomes.values()
    assert [error.args for error in caught.value.exceptions] == [(0,), (1,), (2,)]


@virtual_time
async def test_a_predicate_may_halt_on_a_value() -> None:
    play = Play({item: 9.0 - item for item in range(9)})
    outcomes = await fan_out(play, range(9), cap=9, halt=Halt.when(lambda o: o.value in (3, 6)))
    assert brief(outcomes) == [(0, "done"), (1, "done"), (2, "done"), (3, "done")]


@virtual_time
async def test_a_predicate_that_raises_ends_the_fan_out_with_an_error_that_names_the_item() -> None:
    play = Play({0: 1.0, 1: 50.0})

    def predicate(outcome: Outcome[int]) -> bool:
        raise Boom

    with pytest.raises(BadPredicate, match="raised at item 0") as caught:
        await fan_out(play, range(2), cap=2, halt=Halt.when(predicate))
    assert isinstance(caught.value.__cause__, Boom)
    assert play.cancelled == [1]


@virtual_time
async def test_an_async_predicate_is_an_error_and_not_always_true() -> None:
    async def predicate(outcome: Outcome[int]) -> bool:
        return False

    with pytest.raises(BadPredicate, match="gave coroutine, not a bool"):
        await fan_out(Play({0: 1.0}), range(1), halt=Halt.when(predicate))  # type: ignore[arg-type]


@virtual_time
async def test_an_item_in_backoff_after_the_halt_is_cancelled_at_once() -> None:
    async def work(item: int) -> None:
        if item == 0:
            await asyncio.sleep(5)
        raise Boom

    outcomes = await fan_out(
        work, range(2), cap=2, halt=Halt.on_failure(),
        retry=Retry(1, on=lambda _: True, base_s=0.0),
    )  # fmt: skip
    assert brief(outcomes) == [(0, "failed")]
    slow = Retry(9, base_s=10_000.0, most_s=10_000.0, on=lambda error: error.args == (1,))

    async def only_one_retries(item: int) -> None:
        await asyncio.sleep(item == 0)
        raise Boom(item)

    outcomes = await fan_out(only_one_retries, range(2), cap=2, halt=Halt.on_failure(), retry=slow)
    assert brief(outcomes) == [(0, "failed")]
    assert outcomes.stats.makespan_s < 10.0
