"""Sync work in threads, and the clock that jumps."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from contextvars import ContextVar

import pytest

from fanwise import Halt, cancelled, fan_out, fan_out_sync, open_run
from fanwise.errors import AttemptTimeout
from fanwise.kernel.in_thread import in_thread
from fanwise.testing import MemoryJournal, VirtualDeadlock, run_virtual, virtual_time

VARIABLE: ContextVar[str] = ContextVar("variable", default="unset")


def test_sync_work_does_not_block_the_loop() -> None:
    """A thread waits for something that only the loop can do."""
    let_go = threading.Event()

    async def main() -> list[bool]:
        loop = asyncio.get_running_loop()
        loop.call_soon(let_go.set)
        return (await fan_out(lambda _: let_go.wait(60), range(2))).values()

    assert asyncio.run(main()) == [True, True]


def test_no_more_threads_than_the_cap_and_none_afterwards() -> None:
    names: set[str] = set()
    fan_out_sync(lambda _: names.add(threading.current_thread().name), range(50), cap=3)
    assert 1 <= len(names) <= 3
    assert not [t for t in threading.enumerate() if t.name.startswith("fanwise")]


def test_context_variables_reach_the_work_and_do_not_leak_between_items() -> None:
    async def asynchronous(item: int) -> str:
        found = VARIABLE.get()
        VARIABLE.set(f"item {item}")
        return found

    def synchronous(item: int) -> str:
        found = VARIABLE.get()
        VARIABLE.set(f"item {item}")
        return found

    VARIABLE.set("outer")
    assert fan_out_sync(asynchronous, range(5), cap=1).values() == ["outer"] * 5
    assert fan_out_sync(synchronous, range(5), cap=1).values() == ["outer"] * 5
    VARIABLE.set("unset")


def test_sync_work_can_see_that_it_is_cancelled_and_is_awaited() -> None:
    started = threading.Barrier(3, timeout=60)
    saw: list[int] = []

    def work(item: int) -> None:
        started.wait()
        if item == 0:
            raise ValueError
        while not cancelled():
            os.sched_yield()
        saw.append(item)

    outcomes = fan_out_sync(work, range(3), cap=3, halt=Halt.on_failure())
    assert [o.status for o in outcomes] == ["failed"]
    assert sorted(saw) == [1, 2]


def test_sync_work_that_returns_because_it_is_cancelled_runs_again_on_a_resume() -> None:
    """What never asked came to its end: its value is whole, and may have been paid for."""
    journal = MemoryJournal()
    ran: list[str] = []
    both, ended = threading.Event(), threading.Event()

    def work(item: str) -> str | None:
        ran.append(item)
        if len(ran) == 2:
            both.set()
        if item == "asks" and len(ran) <= 2:
            while not cancelled():
                os.sched_yield()
            ended.set()
            return None
        if len(ran) <= 2:
            assert ended.wait(60)
        return item

    async def execute(*, interrupted: bool) -> list[tuple[str, str | None]]:
        async with open_run("r", journal=journal) as run:
            doing = asyncio.ensure_future(fan_out(work, ["asks", "never asks"], run=run))
            if interrupted:
                await in_thread(both.wait)
                run.cancel()
            return [(outcome.status, outcome.value) for outcome in await doing]

    first = asyncio.run(execute(interrupted=True))
    assert first == [("cancelled", None), ("done", "never asks")]
    assert asyncio.run(execute(interrupted=False)) == [("done", "asks"), ("done", "never asks")]
    assert sorted(ran) == ["asks", "asks", "never asks"]


def test_sync_work_that_ends_after_its_time_out_has_failed() -> None:
    def work(_: int) -> str:
        while not cancelled():
            os.sched_yield()
        return "late"

    [outcome] = fan_out_sync(work, [1], timeout=0.01)
    assert isinstance(outcome.error, AttemptTimeout)


def test_stop_iteration_in_a_thread_is_an_error_and_not_a_hang() -> None:
    def work(_: int) -> int:
        return next(iter([]))

    [outcome] = fan_out_sync(work, [1])
    assert isinstance(outcome.error, RuntimeError)
    assert isinstance(outcome.error.__cause__, StopIteration)


def test_a_lambda_around_an_async_function_is_awaited() -> None:
    async def double(n: int) -> int:
        return 2 * n

    assert fan_out_sync(lambda n: double(n), range(3)).values() == [0, 2, 4]


@virtual_time
async def test_virtual_time_passes_at_once_and_exactly() -> None:
    loop = asyncio.get_running_loop()
    began, real = loop.time(), time.monotonic()
    outcomes = await fan_out(lambda n: asyncio.sleep(3600, n), range(100), cap=10)
    assert loop.time() - began == pytest.approx(36_000)
    assert outcomes.stats.makespan_s == pytest.approx(36_000)
    assert time.monotonic() - real < 3600


def test_virtual_time_stands_still_while_a_thread_works() -> None:
    async def main() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        timer = loop.call_later(1_000, lambda: None)
        await fan_out(lambda _: os.sched_yield(), range(5))
        at = loop.time()
        timer.cancel()
        await asyncio.sleep(7)
        return at, loop.time()

    assert run_virtual(main()) == (0.0, 7.0)


def test_a_deadlock_in_virtual_time_is_an_error_and_not_a_hang() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(VirtualDeadlock):
        run_virtual(main())


def test_a_lambda_around_an_async_function_that_is_cancelled_before_it_began_is_cancelled() -> None:
    """Its coroutine must neither be an outcome's value nor be left without an await."""
    inside = threading.Event()

    async def never() -> None: ...

    def looks_sync(item: int) -> object:
        if item == 0:
            return inside.wait(60)
        inside.set()
        while not cancelled():
            os.sched_yield()
        return never()

    halt = Halt.on_success(fastest=True)
    outcomes = asyncio.run(fan_out(looks_sync, range(2), halt=halt))
    gc.collect()  # a coroutine that was never awaited would warn here
    assert [(o.status, o.value) for o in outcomes] == [("done", True), ("cancelled", None)]
