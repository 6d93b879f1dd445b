"""What an item leaves behind on its task or on the loop never touches another item.

Items that take turns in one task would be faster, and would break this.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fanwise import Retry, fan_out, open_run
from fanwise.testing import MemoryJournal, virtual_time

Leave = Callable[["asyncio.Task[Any]"], object]


def cancel_soon(task: asyncio.Task[Any]) -> None:
    asyncio.get_running_loop().call_soon(task.cancel)


def cancel_later(task: asyncio.Task[Any]) -> None:
    for delay in (0.0, 0.5, 1.0, 1.5, 7.0):
        asyncio.get_running_loop().call_later(delay, task.cancel)


def cancel_often(task: asyncio.Task[Any]) -> None:
    loop = asyncio.get_running_loop()

    def again() -> None:
        task.cancel()
        if loop.time() < 50:
            loop.call_later(0.1, again)

    loop.call_later(0.1, again)


def cancel_on_its_end(task: asyncio.Task[Any]) -> None:
    task.add_done_callback(lambda ended: ended.cancel())


@pytest.mark.parametrize("durable", [False, True], ids=["in memory", "durable"])
@pytest.mark.parametrize("cap", [1, 3])
@pytest.mark.parametrize(
    "leave", [cancel_soon, cancel_later, cancel_often, cancel_on_its_end], ids=lambda f: f.__name__
)
@virtual_time
async def test_a_forgotten_cancellation_reaches_no_other_item(
    leave: Leave, cap: int, durable: bool
) -> None:
    """The even items leave it and return at once, in the same turn or the next."""

    async def work(item: int) -> int:
        task = asyncio.current_task()
        assert task is not None
        if item % 2 == 0:
            leave(task)
        else:
            await asyncio.sleep(1)
            assert task.cancelling() == 0
        return item

    async with open_run("r", journal=MemoryJournal() if durable else ":memory:") as run:
        outcomes = await fan_out(work, range(20), cap=cap, run=run)
    assert outcomes.values() == list(range(20))


@virtual_time
async def test_the_cancellation_of_an_attempt_that_failed_reaches_no_other_item() -> None:
    """It may reach the next attempt of the same item: that one has the same task."""

    async def work(item: int) -> int:
        task = asyncio.current_task()
        assert task is not None
        if item == 0 and task.cancelling() == 0:
            asyncio.get_running_loop().call_later(1, task.cancel)
            raise ValueError
        await asyncio.sleep(5)
        return item

    outcomes = await fan_out(work, range(6), cap=2, retry=Retry(1, on=ValueError, base_s=100.0))
    assert [o.status for o in outcomes][1:] == ["done"] * 5


@pytest.mark.parametrize("cap", [1, 3])
@virtual_time
async def test_a_done_callback_is_called_once_at_the_end_of_its_own_item(cap: int) -> None:
    loop = asyncio.get_running_loop()
    tasks: dict[int, asyncio.Task[Any]] = {}
    called: list[tuple[int, float]] = []

    async def work(item: int) -> int:
        task = asyncio.current_task()
        assert task is not None
        assert task not in tasks.values(), "another item had this task"
        tasks[item] = task

        def ended(which: asyncio.Task[Any]) -> None:
            assert which is tasks[item]
            called.append((item, loop.time()))

        task.add_done_callback(ended)
        await asyncio.sleep(1)
        return item

    outcomes = await fan_out(work, range(9), cap=cap)
    await asyncio.sleep(0)
    assert sorted(called) == [(item, 1.0 + item // cap) for item in range(9)]
    assert outcomes.values() == list(range(9))


@virtual_time
async def test_a_done_callback_that_raises_is_reported_and_harms_no_item() -> None:
    reported: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(context))

    def bad(task: asyncio.Task[Any]) -> None:
        raise RuntimeError("callback")

    async def work(item: int) -> int:
        task = asyncio.current_task()
        assert task is not None
        task.add_done_callback(bad)
        return item

    assert (await fan_out(work, range(5), cap=1)).values() == list(range(5))
    await asyncio.sleep(0)
    assert len(reported) == 5
