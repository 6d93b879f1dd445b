"""A budget that is given to one fan-out of a durable run is one over all its executions."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fanwise import Budget, Caps, Retry, Usage, call, fan_out, fan_out_sync, open_run
from fanwise.errors import BudgetExceeded
from fanwise.journal.port import AttemptRecord, EventRecord
from fanwise.testing import MemoryJournal, virtual_time


async def leaf() -> str:
    return "x"


async def item(_: int) -> str:
    return await call(leaf, estimate=Usage(tokens=40))


@virtual_time
async def test_it_counts_what_earlier_executions_of_that_fan_out_spent() -> None:
    async def execute(items: range, budget: Budget) -> list[str]:
        async with open_run("r", journal=journal) as run:
            await fan_out(item, range(2), run=run, name="another, with a purse of its own")
            outcomes = await fan_out(item, items, cap=1, run=run, name="one", budget=budget)
        return [outcome.status for outcome in outcomes]

    journal = MemoryJournal()
    assert await execute(range(1), Budget(tokens=100)) == ["done"]
    assert await execute(range(4), Budget(tokens=100)) == ["done", "done", "failed", "failed"]
    spent = Budget(tokens=100)
    assert await execute(range(1), spent) == ["done"]
    assert spent.spent["tokens"] == 80


@virtual_time
async def test_what_fan_outs_inside_its_items_spent_counts_too_and_once() -> None:
    async def outer(n: int) -> int:
        inner = await fan_out(item, range(2), name="inner", budget=budget)
        return len(inner.values())

    journal = MemoryJournal()
    for size, spent in ((1, 80), (2, 160), (2, 160)):
        budget = Budget(tokens=1000)
        async with open_run("r", journal=journal) as run:
            await fan_out(outer, range(size), run=run, name="outer", budget=budget)
        assert budget.spent["tokens"] == spent


@virtual_time
async def test_a_budget_may_be_shared_with_the_run_and_an_object_may_be_used_again() -> None:
    journal, shared, own = MemoryJournal(), Budget(tokens=1000), Budget(tokens=1000)
    for _ in range(3):
        async with open_run("r", journal=journal, budget=shared) as run:
            await fan_out(item, range(1), run=run, name="a", budget=shared)
            await fan_out(item, range(1), run=run, name="b", budget=own)
        assert (shared.spent["tokens"], own.spent["tokens"]) == (80, 40)
    async with open_run("r", journal=journal, budget=(new := Budget(tokens=1000))) as run:
        await fan_out(item, range(1), run=run, name="a", budget=new)
    assert new.spent["tokens"] == 80


@virtual_time
async def test_another_try_at_the_item_around_has_no_new_purse() -> None:
    async def in_vain(n: int) -> None:
        await item(n)
        raise ValueError("after it was paid for")

    async def outer(_: int) -> None:
        (await fan_out(in_vain, range(2), name="inner", budget=Budget(tokens=100))).values()

    journal = MemoryJournal()
    async with open_run("r", journal=journal) as run:
        await fan_out(outer, [0], run=run, retry=Retry(1, base_s=0.0))
    rows = [row for each in journal.fan_outs("r") for row in journal.attempts(each.id) if row.call]
    assert sum(row.tokens or 0 for row in rows) == 80


@virtual_time
async def test_one_of_its_own_is_no_way_past_the_run_s() -> None:
    async def outer(n: int) -> list[str]:
        inner = await fan_out(item, range(2), name="inner", budget=Budget(tokens=1000))
        return [outcome.status for outcome in inner]

    journal = MemoryJournal()
    for _ in range(2):
        budget = Budget(tokens=130)
        async with open_run("r", journal=journal, budget=budget) as run:
            outcomes = await fan_out(outer, range(2), cap=1, run=run)
        assert outcomes.values() == [["done", "done"], ["done", "failed"]]
        assert (budget.spent["tokens"], budget.reserved["tokens"]) == (120, 0)


@virtual_time
async def test_it_counts_what_was_spent_inside_items_that_are_not_recorded() -> None:
    async def around(_: int) -> list[str]:
        return [outcome.status for outcome in await fan_out(item, range(3), cap=1, name="inner")]

    journal = MemoryJournal()
    for _ in range(2):
        budget = Budget(tokens=100)
        async with open_run("r", journal=journal, retry_failed=True) as run:
            [outcome] = await fan_out(
                around, [0], run=run, name="step", budget=budget, record=False
            )
        assert outcome.value == ["done", "done", "failed"]
        assert budget.spent["tokens"] == 80


@virtual_time
async def test_what_a_call_was_offered_and_did_not_take_is_somebody_else_s() -> None:
    """It waits for its permit when its item is cancelled; the next one has room for its own."""
    budget, caps = Budget(tokens=100), Caps(api=1)
    order: list[str] = []

    async def spend(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        order.append(name)

    async def first(_: str) -> None:
        await call(spend, "first", 1, estimate=Usage(tokens=60), usage=lambda _: Usage(tokens=10))

    async def cut(_: str) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.5):
                await call(spend, "cut", 0, needs="api", estimate=Usage(tokens=90))

    async def last(_: str) -> None:
        await asyncio.sleep(0.5)
        await call(spend, "last", 0, estimate=Usage(tokens=85))

    async def blocks(_: str) -> None:
        await asyncio.sleep(0.7)
        await call(spend, "blocks", 9, needs="api")

    works = {"first": first, "cut": cut, "last": last, "blocks": blocks}
    outcomes = await fan_out(lambda name: works[name](name), [*works], caps=caps, budget=budget)
    assert [outcome.status for outcome in outcomes] == ["done"] * 4
    assert order == ["first", "last", "blocks"]


KILLED = """
import asyncio, os, signal, sys
from fanwise import Budget, Usage, call, fan_out, open_run
async def leaf(): os.kill(os.getpid(), signal.SIGKILL)
async def item(_): await call(leaf, estimate=Usage(tokens=40))
async def fine(_): pass
async def main(run):
    await fan_out(fine, range(1), run=run, name="other", budget=Budget(tokens=100))
    await fan_out(item, range(1), run=run, name="one", budget=Budget(tokens=100))
with open_run("r", journal=sys.argv[1]) as run:
    asyncio.run(main(run))
"""


def test_what_a_killed_process_may_have_spent_counts_for_the_fan_out_that_spent_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "j.db"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False, timeout=60)
    assert killed.returncode < 0
    one, other = Budget(tokens=79), Budget(tokens=79)
    with open_run("r", journal=path) as run:
        fan_out_sync(item, range(1), run=run, name="other", budget=other)
        outcomes = fan_out_sync(item, range(1), run=run, name="one", budget=one)
    assert (one.spent["tokens"], other.spent["tokens"]) == (40, 0)
    with pytest.raises(BudgetExceeded):
        outcomes[0].unwrap()


class WatchedJournal(MemoryJournal):
    """Notes the reads of all attempts and events that block the event loop, not those of a page."""

    blocking = 0

    def attempts(self, fan_out: int, keys: Sequence[str] | None = None) -> Iterator[AttemptRecord]:
        for row in super().attempts(fan_out, keys):
            self.blocking += keys is None and asyncio._get_running_loop() is not None
            yield row

    def events(self, run_id: str, kind: str | None = None) -> Iterator[EventRecord]:
        for row in super().events(run_id, kind):
            self.blocking += asyncio._get_running_loop() is not None
            yield row


def test_what_was_spent_earlier_is_read_in_a_thread() -> None:
    async def execute(budget: Budget) -> None:
        async with open_run("r", journal=journal) as run:
            await fan_out(item, range(3), run=run, name="one", budget=budget)
            journal.blocking = 0
            await fan_out(item, range(3), run=run, name="two", budget=budget)

    journal = WatchedJournal()
    asyncio.run(execute(Budget(tokens=1000)))
    asyncio.run(execute(again := Budget(tokens=1000)))
    assert (again.spent["tokens"], journal.blocking) == (240, 0)
