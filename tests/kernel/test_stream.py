"""Outcomes as they come, or in their order; leaving early leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from fanwise import Caps, Halt, Rate, Retry, fan_out_stream
from fanwise.core.schedule import LOOK_AHEAD
from fanwise.errors import ItemsError
from fanwise.testing import virtual_time


async def backwards(item: int) -> int:
    await asyncio.sleep(10 - item)
    return item


@virtual_time
async def test_outcomes_come_as_they_finish() -> None:
    async with fan_out_stream(backwards, range(5), cap=5) as stream:
        assert [o.value async for o in stream] == [4, 3, 2, 1, 0]
    assert stream.stats is not None
    assert stream.stats.peak == {"total": 5}


@virtual_time
async def test_ordered_outcomes_come_in_item_order_each_as_soon_as_its_turn_is() -> None:
    loop = asyncio.get_running_loop()
    at = []
    async with fan_out_stream(lambda n: asyncio.sleep(n, n), [3, 1, 5], ordered=True) as stream:
        async for outcome in stream:
            at.append((outcome.value, loop.time()))
    assert at == [(3, 3.0), (1, 3.0), (5, 5.0)]


@virtual_time
async def test_leaving_early_cancels_and_awaits_the_rest() -> None:
    ended = []

    async def work(item: int) -> int:
        try:
            await asyncio.sleep(item * 100)
        finally:
            await asyncio.sleep(1)
            ended.append(item)
        return item

    async with fan_out_stream(work, range(100), cap=4) as stream:
        async for outcome in stream:
            assert outcome.value == 0
            break
    assert sorted(ended)[:4] == [0, 1, 2, 3]
    assert len(ended) <= 5
    assert len(asyncio.all_tasks()) == 1


@virtual_time
async def test_an_exception_in_the_block_comes_out_and_the_rest_is_awaited() -> None:
    with pytest.raises(KeyError):
        async with fan_out_stream(backwards, range(5)) as stream:
            async for _ in stream:
                raise KeyError
    assert len(asyncio.all_tasks()) == 1


@virtual_time
async def test_a_slow_reader_holds_back_an_endless_source() -> None:
    pulled = 0

    def endless() -> Iterator[int]:
        nonlocal pulled
        while pulled < 10_000:  # else a reader that holds nothing back would never be seen
            pulled += 1
            yield pulled

    async def work(item: int) -> int:
        return item

    read = 0
    async with fan_out_stream(work, endless(), cap=3) as stream:
        async for _ in stream:
            await asyncio.sleep(1)
            if (read := read + 1) == 3_000:
                break
    assert read <= pulled <= read + stream.BUFFER + 10


@pytest.mark.parametrize(("cap", "most"), [(3, 1_000), (200, 2_000)])
@pytest.mark.parametrize("slow", ["at work", "backing off", "in need"])
@virtual_time
async def test_what_waits_for_its_turn_behind_a_slow_item_is_bounded(
    slow: str, cap: int, most: int
) -> None:
    pulled = waiting = 0

    def endless() -> Iterator[int]:
        nonlocal pulled
        while pulled < 10_000:  # else a stream that holds nothing back would never be seen
            yield pulled
            pulled += 1

    async def work(item: int) -> int:
        nonlocal waiting
        if item:
            await asyncio.sleep(1)
        elif slow == "at work":
            await asyncio.sleep(100_000)
        elif slow == "backing off" and asyncio.get_running_loop().time() < 100_000:
            raise OSError
        waiting = max(waiting, pulled - len(read))
        return item

    read: list[int] = []
    caps = Caps(a=Rate(requests=1, per=100_000))
    async with fan_out_stream(
        work, endless(), cap=cap, ordered=True, retry=Retry(1_000, base_s=1_000.0, most_s=1_000.0),
        caps=caps, needs=lambda item: "a" if slow == "in need" and item in (0, 1) else None,
    ) as stream:  # fmt: skip
        async for outcome in stream:
            read.append(outcome.unwrap())
            if len(read) == 5_000:
                break
    assert read == list(range(5_000))
    assert most <= waiting <= most + cap + 1


@virtual_time
async def test_items_that_wait_for_a_permit_count_beside_what_waits_for_its_turn() -> None:
    """Items are pulled ahead to find one that can run; those that were pulled all run."""
    pulled = ended = 0

    def endless() -> Iterator[int]:
        nonlocal pulled
        while pulled < 2 * LOOK_AHEAD:
            yield pulled
            pulled += 1

    async def work(item: int) -> int:
        nonlocal ended
        await asyncio.sleep(0 if item else 1)
        ended += 1
        return item

    cap = 3  # never used up: only one item at a time has "a"
    async with fan_out_stream(
        work, endless(), cap=cap, ordered=True, caps=Caps(a=1),
        needs=lambda item: "a" if item else None,
    ) as stream:  # fmt: skip
        first = await anext(stream)
        assert first.index == 0
        held, pulled_by_then = ended - 1, pulled
    most = stream.BUFFER + LOOK_AHEAD
    assert most <= pulled_by_then <= most + cap
    assert held <= most + cap


@virtual_time
async def test_a_source_that_raises_does_so_after_all_that_came_before_it() -> None:
    async def items() -> AsyncIterator[int]:
        yield 1
        yield 2
        raise OSError("gone")

    got = []
    with pytest.raises(ItemsError) as caught:
        async with fan_out_stream(backwards, items(), ordered=True) as stream:
            async for outcome in stream:
                got.append(outcome.value)
    assert got == [1, 2]
    assert isinstance(caught.value.__cause__, OSError)


@virtual_time
async def test_an_ordered_stream_ends_with_the_item_that_halts() -> None:
    async def work(item: int) -> int:
        await asyncio.sleep(10 - item)
        if item in (2, 4):
            raise ValueError
        return item

    halt = Halt.on_failure()
    async with fan_out_stream(work, range(9), ordered=True, halt=halt) as stream:
        assert [o.status async for o in stream] == ["done", "done", "failed"]


@virtual_time
async def test_items_of_an_endless_async_source_are_pulled_only_as_they_can_run() -> None:
    pulled = 0

    async def endless() -> AsyncIterator[int]:
        nonlocal pulled
        while True:
            pulled += 1
            yield pulled

    async with fan_out_stream(lambda n: asyncio.sleep(1, n), endless(), cap=5) as stream:
        async for outcome in stream:
            if outcome.value == 20:
                break
    assert pulled <= 31
