"""Exactly the cap in flight: a barrier of cap parties, which a serial run would never pass."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from fanwise import Adaptive, Caps, Command, Halt, Rate, call, fan_out, fan_out_sync
from fanwise.core.schedule import LOOK_AHEAD
from fanwise.testing import run_virtual, virtual_time

CAP = 7
ITEMS = 3 * CAP


class Count:
    def __init__(self) -> None:
        self.now = self.most = 0

    def __enter__(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        self.now -= 1


@virtual_time
async def test_async_work_reaches_exactly_the_cap() -> None:
    barrier, count = asyncio.Barrier(CAP), Count()

    async def work(_: int) -> None:
        with count:
            await barrier.wait()
            await asyncio.sleep(1)  # the last to come is not the first to go

    outcomes = await fan_out(work, range(ITEMS), cap=CAP)
    assert [o.status for o in outcomes] == ["done"] * ITEMS
    assert count.most == outcomes.stats.peak["total"] == CAP


@virtual_time
async def test_a_named_cap_is_reached_exactly_within_a_wider_total() -> None:
    barrier, count = asyncio.Barrier(3), Count()

    async def work(_: int) -> None:
        with count:
            await barrier.wait()
            await asyncio.sleep(1)  # the last to come is not the first to go

    outcomes = await fan_out(work, range(9), cap=9, caps=Caps(gpu=3), needs=lambda _: "gpu")
    assert outcomes.values() == [None] * 9
    assert count.most == outcomes.stats.peak["gpu"] == 3


@pytest.mark.parametrize(
    "limit", [(3, Rate(requests=1e9)), Adaptive(3, most=3), (Adaptive(3, most=3), Rate(tokens=1e9))]
)
def test_a_cap_with_a_rate_and_an_adaptive_cap_are_reached_exactly_too(limit: Any) -> None:
    barrier, count = asyncio.Barrier(3), Count()

    async def work(_: int) -> None:
        with count:
            await barrier.wait()
            await asyncio.sleep(1)  # the last to come is not the first to go

    async def main() -> None:
        outcomes = await fan_out(work, range(9), cap=9, caps=Caps(m=limit), needs=lambda _: "m")
        assert outcomes.values() == [None] * 9

    run_virtual(main())
    assert count.most == 3


@virtual_time
async def test_items_are_pulled_only_when_something_could_run_them() -> None:
    pulled = ended = 0

    def items() -> Iterator[int]:
        nonlocal pulled
        for item in range(20):
            pulled += 1
            yield item

    async def work(_: int) -> None:
        nonlocal ended
        await asyncio.sleep(1)
        assert pulled - ended <= 3
        ended += 1

    outcomes = await fan_out(work, items(), cap=3)
    assert outcomes.values() == [None] * 20


@virtual_time
async def test_an_item_may_need_several_permits() -> None:
    barrier, count = asyncio.Barrier(2), Count()

    async def work(_: int) -> None:
        with count:
            await barrier.wait()
            await asyncio.sleep(1)  # the last to come is not the first to go

    needs = {"gpu": 2}
    outcomes = await fan_out(work, range(6), cap=9, caps=Caps(gpu=5), needs=lambda _: needs)
    assert outcomes.values() == [None] * 6
    assert count.most == 2
    assert outcomes.stats.peak["gpu"] == 4


def test_thread_work_reaches_exactly_the_cap() -> None:
    barrier, lock, count = threading.Barrier(CAP, timeout=60), threading.Lock(), Count()

    def work(_: int) -> str:
        with lock:
            count.__enter__()
        barrier.wait()
        with lock:
            count.__exit__()
        return threading.current_thread().name

    outcomes = fan_out_sync(work, range(ITEMS), cap=CAP)
    assert len(set(outcomes.values())) <= CAP, "threads beyond the cap"
    assert outcomes.stats.peak["total"] == CAP
    assert count.most <= CAP


MEET = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
    s.recv(1)
"""


def test_commands_reach_exactly_the_cap_as_processes_that_live_at_the_same_time() -> None:
    """Each child connects and waits; only when cap children are connected are they let go."""
    count = Count()
    waiting: list[asyncio.StreamWriter] = []

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with count:
            waiting.append(writer)
            if len(waiting) == CAP:
                for each in waiting:
                    each.write(b"!")
                waiting.clear()
            await reader.read()
        writer.close()

    async def main() -> Any:
        server = await asyncio.start_server(meet, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            command = Command(sys.executable, "-c", MEET, str(port), "{}")
            return await fan_out(command, map(str, range(2 * CAP)), cap=CAP, timeout=60)

    outcomes = asyncio.run(main())
    assert [o.error for o in outcomes] == [None] * (2 * CAP)
    assert count.most == outcomes.stats.peak["total"] == CAP


@virtual_time
async def test_no_permit_is_idle_while_a_later_item_could_use_it() -> None:
    """Five providers, grouped: an in-order window would leave four of them idle."""
    caps = Caps({f"p{n}": 4 for n in range(5)})
    items = [f"p{n}" for n in range(5) for _ in range(40)]

    async def work(_: str) -> None:
        await asyncio.sleep(1)

    outcomes = await fan_out(work, items, cap=20, caps=caps, needs=lambda item: item)
    assert outcomes.stats.makespan_s == pytest.approx(10.0, rel=0.01)
    assert outcomes.stats.efficiency == pytest.approx(1.0, rel=0.01)


@virtual_time
async def test_a_slow_item_does_not_hold_up_those_behind_it() -> None:
    """An in-order window takes 5.2 s. Five items of a second on four permits need two."""

    async def work(seconds: float) -> None:
        await asyncio.sleep(seconds)

    outcomes = await fan_out(work, [1.0, 0.05, 0.05, 0.05] * 5, cap=4)
    assert outcomes.stats.makespan_s <= 1.15 * 2.0


@virtual_time
async def test_when_the_total_binds_the_longest_remaining_work_goes_first() -> None:
    """8 slots over 5 providers of unequal work: FIFO by provider takes 1.22 x the bound."""
    caps = Caps({f"p{n}": 4 for n in range(5)})
    items = [f"p{n}" for n in range(5) for _ in range(20 + 30 * n)]

    async def work(item: str) -> None:
        await asyncio.sleep(1 + int(item[1]))

    outcomes = await fan_out(work, items, cap=8, caps=caps, needs=lambda item: item)
    assert outcomes.stats.makespan_s <= 1.05 * outcomes.stats.lower_bound_s


@virtual_time
async def test_the_look_ahead_is_bounded() -> None:
    """Every item needs a cap that one holds: an endless source is not read to its end."""
    pulled = 0

    def endless() -> Iterator[int]:
        nonlocal pulled
        while True:
            pulled += 1
            yield pulled

    halt = Halt.when(lambda outcome: outcome.index == 0)
    work = lambda _: asyncio.sleep(1)  # noqa: E731
    await fan_out(work, endless(), cap=2, caps=Caps(a=1), needs=lambda _: "a", halt=halt)
    assert pulled <= LOOK_AHEAD + 3


@virtual_time
async def test_work_is_counted_by_the_units_held_and_only_ones_own() -> None:
    caps = Caps(gpu=4)

    async def work(_: int) -> None:
        await asyncio.sleep(10)

    two = fan_out(work, range(3), cap=9, caps=caps, needs=lambda _: {"gpu": 2})
    other = fan_out(work, range(1), cap=9, caps=caps, needs=lambda _: "gpu")
    mine, others = await asyncio.gather(two, other)
    assert mine.stats.work_s == pytest.approx({"total": 30, "gpu": 60})
    assert mine.stats.lower_bound_s == pytest.approx(15)
    assert others.stats.work_s == pytest.approx({"total": 10, "gpu": 10})
    assert others.stats.lower_bound_s <= others.stats.makespan_s


@virtual_time
async def test_the_work_of_calls_and_nested_fan_outs_counts_for_what_is_around_them() -> None:
    async def leaf() -> None:
        await asyncio.sleep(2)

    async def item(_: int) -> None:
        await call(leaf, needs="api")
        await fan_out(lambda _: asyncio.sleep(3), range(2), needs=lambda _: "api")

    outcomes = await fan_out(item, range(2), caps=Caps(api=1))
    assert outcomes.stats.work_s["api"] == pytest.approx(2 * (2 + 3 + 3))
    assert outcomes.stats.efficiency == pytest.approx(1.0, rel=0.01)


@virtual_time
async def test_queued_is_the_wait_for_permits_and_ran_is_the_work() -> None:
    outcomes = await fan_out(
        lambda _: asyncio.sleep(5), range(3), cap=3, caps=Caps(a=1), needs=lambda _: "a"
    )
    assert [o.queued_s for o in outcomes] == pytest.approx([0, 5, 10])
    assert [o.ran_s for o in outcomes] == pytest.approx([5, 5, 5])
