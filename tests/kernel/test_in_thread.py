"""Sync work inside async code: in a thread, of the fan-out around if there is one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fanwise import fan_out, open_run
from fanwise.journal.port import ItemStatus
from fanwise.kernel.in_thread import in_thread, thread_context
from fanwise.testing import MemoryJournal


def here() -> str:
    return threading.current_thread().name


def parts(number: int, by: int) -> tuple[int, int]:
    return divmod(number, by)


def test_it_runs_beside_the_loop_and_gives_what_the_function_gives() -> None:
    async def main() -> tuple[str, tuple[int, int]]:
        return await in_thread(here), await in_thread(parts, 7, 3)

    name, numbers = asyncio.run(main())
    assert name != threading.main_thread().name
    assert numbers == (2, 1)
    assert name not in [each.name for each in threading.enumerate()], "its thread has ended"


def test_what_it_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(in_thread(parts, 1, 0))


def test_a_time_out_during_it_is_a_time_out_and_nothing_else(tmp_path: Path) -> None:
    go_on = threading.Event()

    async def waits() -> None:
        asyncio.get_running_loop().call_soon(go_on.set)  # after the time-out
        assert await in_thread(go_on.wait, 30)

    async def opens() -> None:
        async with open_run("r", journal=tmp_path / "journal.db"):
            pass

    class SlowJournal(MemoryJournal):
        def statuses(self, fan_out: int) -> dict[str, ItemStatus]:
            ((loop, task),) = during
            loop.call_soon_threadsafe(task.cancel)
            loop.call_soon_threadsafe(go_on.set)
            assert go_on.wait(30)
            return super().statuses(fan_out)

    async def resumes() -> None:
        async with open_run("r", journal=journal) as run:
            await fan_out(in_order, [1], run=run)

    async def in_order(item: int) -> int:
        return item

    journal = SlowJournal()
    during: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = []

    async def main() -> None:
        for slow in (waits, opens):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await slow()
        await resumes()
        go_on.clear()
        resuming = asyncio.create_task(resumes())
        during.append((asyncio.get_running_loop(), resuming))
        with pytest.raises(asyncio.CancelledError) as caught:
            await resuming
        assert caught.type is asyncio.CancelledError, "asyncio.timeout knows no other class"

    asyncio.run(main())


def test_inside_an_item_it_is_no_call_and_a_cancellation_waits_for_its_end() -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        go_on.wait(30)
        ended.set()

    async def work(number: int) -> Any:
        if number == 0:
            return await in_thread(here)
        return await asyncio.wait_for(in_thread(slow), 30)

    async def main() -> Any:
        task = asyncio.create_task(fan_out(work, [0, 1]))
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        asyncio.get_running_loop().call_soon(go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()
        return await fan_out(work, [0])

    (outcome,) = asyncio.run(main())
    assert len(outcome.attempts) == 1, "the item's own, and no call"


def test_a_context_is_entered_and_left_in_threads_also_if_it_is_cancelled_while_it_is_entered() -> (
    None
):
    begun, go_on = threading.Event(), threading.Event()
    seen: list[str] = []

    @contextmanager
    def folder() -> Iterator[None]:
        seen.append(here())
        begun.set()
        go_on.wait(30)
        try:
            yield
        finally:
            seen.append(here())

    async def use() -> None:
        async with thread_context(folder()):
            pytest.fail("it was cancelled before")

    async def main() -> None:
        task = asyncio.create_task(use())
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        asyncio.get_running_loop().call_soon(go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert len(seen) == 2
    assert threading.main_thread().name not in seen
