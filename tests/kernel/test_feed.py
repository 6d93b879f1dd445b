"""Items that are added while the fan-out runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fanwise import Caps, Feed, fan_out, fan_out_stream, open_run
from fanwise.errors import UsageError
from fanwise.kernel.in_thread import in_thread
from fanwise.testing import virtual_time


async def slow(seconds: int) -> int:
    await asyncio.sleep(seconds)
    return seconds


@virtual_time
async def test_each_outcome_may_bring_further_items_and_they_start_at_once() -> None:
    loop = asyncio.get_running_loop()
    ends = []
    feed = Feed([1, 5])
    async with fan_out_stream(slow, feed, cap=2) as stream:
        async for outcome in stream:
            ends.append((outcome.value, loop.time()))
            if outcome.value == 1 and loop.time() < 3:
                feed.add(1)
            elif outcome.value == 5:
                feed.close()
    # The short ones follow each other without waiting for the long one.
    assert ends == [(1, 1.0), (1, 2.0), (1, 3.0), (5, 5.0)]


@virtual_time
async def test_a_fan_out_waits_for_a_feed_until_it_is_closed() -> None:
    feed: Feed[int] = Feed()
    asyncio.get_running_loop().call_later(10, feed.add, 1, 2)
    asyncio.get_running_loop().call_later(20, feed.close)
    outcomes = await fan_out(slow, feed)
    assert outcomes.values() == [1, 2]
    assert asyncio.get_running_loop().time() == 20


@virtual_time
async def test_a_closed_feed_takes_no_more_items() -> None:
    feed = Feed([1])
    feed.close()
    with pytest.raises(UsageError, match="closed"):
        feed.add(2)
    assert (await fan_out(slow, feed)).values() == [1]


@virtual_time
async def test_leaving_the_stream_of_an_open_feed_leaves_nothing_behind() -> None:
    feed = Feed([1, 100])
    async with fan_out_stream(slow, feed) as stream:
        async for outcome in stream:
            assert outcome.value == 1
            break
    assert len(asyncio.all_tasks()) == 1
    assert [(o.index, o.status) for o in stream.unread] == [(1, "cancelled")]


@virtual_time
async def test_what_had_ended_and_was_not_read_is_told_after_the_block() -> None:
    async with fan_out_stream(slow, [1, 1, 100]) as stream:
        async for _ in stream:
            break
    assert [(o.index, o.status) for o in stream.unread] == [(1, "done"), (2, "cancelled")]


@virtual_time
async def test_a_feed_serves_one_fan_out() -> None:
    feed: Feed[int] = Feed([1])
    feed.close()
    await fan_out(slow, feed)
    with pytest.raises(UsageError, match="each"):
        await fan_out(slow, feed)


@virtual_time
async def test_what_needs_a_busy_cap_does_not_hold_up_what_came_after_it() -> None:
    loop = asyncio.get_running_loop()
    ends: dict[str, float] = {}

    async def work(item: str) -> None:
        await asyncio.sleep(10 if item[0] == "a" else 1)
        ends[item] = loop.time()

    feed = Feed(["a1", "a2", "a3"])
    loop.call_later(0.5, feed.add, "b1", "b2")
    loop.call_later(0.5, feed.close)
    await fan_out(work, feed, cap=9, caps=Caps(a=1, b=1), needs=lambda item: item[0])
    assert ends == {"b1": 1.5, "b2": 2.5, "a1": 10, "a2": 20, "a3": 30}


def test_what_a_feed_brought_is_known_again_on_resume_by_its_key(tmp_path: Path) -> None:
    worked: list[int] = []

    async def work(item: int) -> int:
        worked.append(item)
        return item

    async def grow() -> list[int | None]:
        feed, got = Feed([0]), []
        with open_run("r", journal=tmp_path / "j.db") as run:
            async with fan_out_stream(work, feed, run=run, key=str, name="grow") as stream:
                async for outcome in stream:
                    got.append(outcome.value)
                    if outcome.value == 3:
                        feed.close()
                    else:
                        feed.add((outcome.value or 0) + 1)
        return got

    assert asyncio.run(grow()) == asyncio.run(grow()) == [0, 1, 2, 3]
    assert worked == [0, 1, 2, 3]


def test_a_feed_that_is_used_from_another_thread_says_so() -> None:
    """It would take the scheduler apart under the event loop's feet."""

    async def main() -> list[int]:
        feed = Feed([0])
        async with fan_out_stream(slow, feed) as stream:
            for wrong in (lambda: feed.add(2), feed.close):
                with pytest.raises(UsageError, match="call_soon_threadsafe"):
                    await in_thread(wrong)
            loop = asyncio.get_running_loop()
            await in_thread(loop.call_soon_threadsafe, feed.close)
            return [outcome.unwrap() async for outcome in stream]

    assert asyncio.run(main()) == [0]
