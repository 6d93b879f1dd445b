"""What an earlier execution recorded, and what of it still counts."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from fanwise import Feed, Outcome, Retry, fan_out, open_run
from fanwise.errors import BadPredicate, JournalUnreadable, StepFailed
from fanwise.journal.port import ItemStatus
from fanwise.kernel.intake import IN_ONE_TURN
from fanwise.testing import MemoryJournal, virtual_time


@virtual_time
async def test_a_recorded_outcome_that_no_longer_counts_runs_again_and_is_written_over() -> None:
    journal = MemoryJournal()
    ran: list[int] = []

    async def work(item: int) -> dict[str, int]:
        ran.append(item)
        return {"item": item, "time": len(ran)}

    async def execute(wrong: int | None) -> list[Any]:
        def still_counts(item: int, outcome: Outcome[Any]) -> bool:
            assert outcome.unwrap()["item"] == item
            return item != wrong

        async with open_run("r", journal=journal) as run:
            outcomes = await fan_out(work, range(3), cap=1, run=run, name="f", reuse=still_counts)
            return outcomes.values()

    await execute(None)
    assert ran == [0, 1, 2]
    assert [value["time"] for value in await execute(1)] == [1, 4, 3]
    assert ran == [0, 1, 2, 1]
    assert [value["time"] for value in await execute(None)] == [1, 4, 3]
    assert ran == [0, 1, 2, 1]


@virtual_time
async def test_a_reuse_that_raises_is_a_bad_predicate() -> None:
    journal = MemoryJournal()

    def broken(item: int, outcome: Outcome[Any]) -> bool:
        raise LookupError(item)

    async with open_run("r", journal=journal) as run:
        await fan_out(lambda item: item, range(2), run=run, name="f", reuse=broken)
    with pytest.raises(BadPredicate):
        async with open_run("r", journal=journal) as run:
            await fan_out(lambda item: item, range(2), run=run, name="f", reuse=broken)


@virtual_time
async def test_what_a_failed_step_gave_is_kept_with_its_failure() -> None:
    journal = MemoryJournal()

    async def work(item: int) -> None:
        raise StepFailed("it exited with code 3", {"exit_code": 3})

    for recorded in (False, True):
        async with open_run("r", journal=journal) as run:
            (outcome,) = await fan_out(work, range(1), run=run, name="f")
        value: Any = outcome.value
        assert (outcome.status, value) == ("failed", {"exit_code": 3})
        assert outcome.recorded is recorded
        assert "it exited with code 3" in str(outcome.error)


@pytest.mark.parametrize("status", ["paused", "failed"])
@virtual_time
async def test_a_run_ends_as_it_was_told_unless_something_interrupts_it(status: Any) -> None:
    journal = MemoryJournal()
    async with open_run("r", journal=journal) as run:
        run.end_as(status, "step a: no")
    assert (journal.run("r").status, journal.run("r").error) == (status, "step a: no")
    async with open_run("r", journal=journal) as run:
        run.end_as(status, "step a: no")
        run.cancel()
    assert journal.run("r").status == "cancelled"
    with pytest.raises(LookupError):
        async with open_run("r", journal=journal) as run:
            run.end_as("paused")
            raise LookupError("worse")
    assert journal.run("r").status == "failed"


@virtual_time
async def test_a_run_that_is_named_inside_its_own_item_is_that_item_s() -> None:
    journal = MemoryJournal()
    async with open_run("r", journal=journal) as run:

        async def inner(item: int) -> int:
            return (await fan_out(lambda n: n, range(2), run=run, name="inner")).values()[item]

        await fan_out(inner, range(2), run=run, name="outer")
    paths = sorted(each.path for each in journal.fan_outs("r"))
    assert paths == ["outer", "outer/0/inner", "outer/1/inner"]


@virtual_time
async def test_of_items_that_are_not_recorded_what_they_fan_out_is() -> None:
    journal = MemoryJournal()
    outer: list[int] = []
    inner: list[str] = []

    async def leaf(item: str) -> str:
        inner.append(item)
        return item * 2

    async def whole(item: int) -> list[str]:
        outer.append(item)
        inside = [f"{item}{letter}" for letter in "ab"]
        return (await fan_out(leaf, inside, name="leaves", key=str)).values()

    for _ in range(2):
        async with open_run("r", journal=journal) as run:
            outcomes = await fan_out(whole, range(2), run=run, name="all", record=False)
        assert outcomes.values() == [["0a0a", "0b0b"], ["1a1a", "1b1b"]]
    assert (sorted(inner), outer) == (["0a", "0b", "1a", "1b"], [0, 1, 0, 1])
    assert sorted(each.path for each in journal.fan_outs("r")) == ["all/0/leaves", "all/1/leaves"]


@virtual_time
async def test_a_failure_of_an_earlier_attempt_around_counts_if_reuse_says_so() -> None:
    """Without `reuse` it is tried again: that is what an attempt is for."""
    ran: list[str] = []

    async def inner(item: str) -> None:
        ran.append(item)
        raise StepFailed("no")

    async def outer(name: str) -> None:
        reuse = {"asks": lambda item, outcome: bool(item == "a")}.get(name)
        await fan_out(inner, ["a", "b"], cap=1, key=str, name=name, reuse=reuse)
        raise StepFailed("again")

    async with open_run("r", journal=MemoryJournal()) as run:
        for name in ("plain", "asks"):
            ran.clear()
            await fan_out(outer, [name], run=run, name=f"{name} around", retry=Retry(1), key=str)
            assert ran == (["a", "b", "a", "b"] if name == "plain" else ["a", "b", "b"])


@virtual_time
async def test_what_failed_inside_one_that_does_not_count_runs_again_too() -> None:
    journal = MemoryJournal()
    ran: list[str] = []

    async def inner(item: str) -> str:
        ran.append(item)
        if item.endswith("bad"):
            raise ValueError(item)
        return item

    async def outer(item: str) -> str:
        await fan_out(inner, [f"{item}-good", f"{item}-bad"], name="inner", key=str)
        return item

    async def execute(wrong: str | None) -> list[str]:
        ran.clear()
        async with open_run("r", journal=journal) as run:
            await fan_out(
                outer, ["a", "b"], cap=1, run=run, name="f", key=str,
                reuse=lambda item, outcome: item != wrong,
            )  # fmt: skip
        return ran

    assert len(await execute(None)) == 4
    assert await execute("a") == ["a-bad"]
    assert await execute(None) == []


@pytest.mark.parametrize("kind", ["plain", "async", "feed"])
def test_recorded_outcomes_leave_the_event_loop_its_turns(kind: str) -> None:
    """A million of them would keep Ctrl-C and everybody else waiting."""
    journal, pulled, turns = MemoryJournal(), Counter[int](), [0]
    numbers = range(3 * IN_ONE_TURN)

    def plain() -> Iterator[int]:
        for number in numbers:
            pulled[turns[0]] += 1
            yield number

    async def one_by_one() -> AsyncIterator[int]:
        for number in plain():
            yield number

    def key(number: int) -> str:
        if kind == "feed":
            pulled[turns[0]] += 1
        return str(number)

    async def double(number: int) -> int:
        return 2 * number

    async def turn() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    async def main() -> list[int]:
        items: Any = {"plain": plain, "async": one_by_one}.get(kind, Feed[int])()
        if isinstance(items, Feed):
            items.add(*numbers)
            items.close()
        async with open_run("r", journal=journal) as run:
            turning = asyncio.create_task(turn())
            outcomes = await fan_out(double, items, cap=10, run=run, name="all", key=key)
            turning.cancel()
        return outcomes.values()

    expected = [2 * number for number in numbers]
    assert asyncio.run(main()) == expected
    pulled.clear()
    assert asyncio.run(main()) == expected
    assert sum(pulled.values()) == len(numbers)
    assert max(pulled.values()) <= IN_ONE_TURN + 1


class SlowJournal(MemoryJournal):
    """Its reader waits; or it cannot be read."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.error: Exception | None = None

    def statuses(self, fan_out: int) -> dict[str, ItemStatus]:
        self.begun.set()
        self.go_on.wait(30)
        if self.error is not None:
            raise self.error
        return super().statuses(fan_out)


@pytest.mark.parametrize("error", [None, JournalUnreadable("j.db", "damaged")])
def test_a_cancellation_or_an_error_while_recorded_outcomes_are_read_starts_nothing(
    error: JournalUnreadable | None,
) -> None:
    journal, ran = SlowJournal(), list[int]()

    async def main() -> None:
        async with open_run("r", journal=journal) as run:
            await fan_out(ran.append, [0], run=run, name="f")

    async def interrupted() -> None:
        task = asyncio.create_task(main())
        await asyncio.to_thread(journal.begun.wait, 30)
        if error is None:
            task.cancel()
        asyncio.get_running_loop().call_soon(journal.go_on.set)
        await task

    journal.go_on.set()
    asyncio.run(main())
    journal.begun.clear()
    journal.go_on.clear()
    journal.error = error
    with pytest.raises(asyncio.CancelledError if error is None else JournalUnreadable):
        asyncio.run(interrupted())
    assert ran == [0]
    status = "cancelled" if error is None else "failed"
    assert [each.status for each in journal.fan_outs("r")] == [status]
