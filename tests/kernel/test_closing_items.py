"""A generator of items is closed with its fan-out, whichever way that ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fanwise import Halt, fan_out, fan_out_stream, open_run
from fanwise.errors import BadPredicate, ItemsError
from fanwise.testing import virtual_time


class Boom(Exception):
    pass


class Source:
    """Endless items that hold something open; letting go of it takes five seconds, or fails."""

    def __init__(self, problem: BaseException | None = None) -> None:
        self.open = 0
        self.problem = problem

    def plain(self) -> Iterator[int]:
        self.open += 1
        try:
            yield from range(1_000_000)
        finally:
            self.open -= 1
            if self.problem is not None:
                raise self.problem

    async def slow(self) -> AsyncIterator[int]:
        self.open += 1
        try:
            for item in range(1_000_000):
                yield item
        finally:
            await asyncio.sleep(5)
            self.open -= 1
            if self.problem is not None:
                raise self.problem

    async def waiting(self) -> AsyncIterator[int]:
        """Is not at a `yield` when the end comes: it waits for an item itself."""
        async with contextlib.aclosing(self.slow()) as items:  # type: ignore[type-var]
            async for item in items:
                yield item
                await asyncio.sleep(0 if item < 3 else 1_000)

    def __iter__(self) -> Iterator[int]:
        return self.plain()


MAKERS = [Source.plain, Source.slow, Source.waiting, lambda source: source]
every_kind = pytest.mark.parametrize("make", MAKERS, ids=["plain", "async", "waiting", "__iter__"])
Make = Callable[[Source], Any]


async def work(item: int) -> int:
    await asyncio.sleep(item)
    if item == 3:
        raise Boom
    return item


async def halted(items: Any) -> None:
    outcomes = await fan_out(work, items, cap=2, halt=Halt.on_failure())
    assert len(outcomes) == 4


async def cancelled(items: Any) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(10):
            await fan_out(lambda _: asyncio.sleep(1_000), items, cap=2)


async def with_an_error(items: Any) -> None:
    def key(item: int) -> str:
        if item == 5:
            raise Boom
        return str(item)

    with pytest.raises(BadPredicate):
        await fan_out(work, items, cap=7, key=key)


async def left_early(items: Any) -> None:
    async with fan_out_stream(work, items, cap=2) as stream:
        async for _ in stream:
            break


async def left_with_an_error(items: Any) -> None:
    with pytest.raises(Boom):
        async with fan_out_stream(work, items, cap=2) as stream:
            async for _ in stream:
                raise Boom


async def ordered_to_halt(items: Any) -> None:
    async with open_run(journal=":memory:") as run:
        asyncio.get_running_loop().call_later(10, run.halt)
        await fan_out(lambda _: asyncio.sleep(3), items, cap=2, run=run)


WAYS = [halted, cancelled, with_an_error, left_early, left_with_an_error, ordered_to_halt]


@every_kind
@pytest.mark.parametrize("end", WAYS, ids=lambda way: way.__name__)
def test_it_is_closed_before_the_fan_out_returns(
    end: Callable[[Any], Awaitable[None]], make: Make
) -> None:
    source = Source()

    @virtual_time
    async def main() -> None:
        await end(make(source))
        assert source.open == 0
        assert len(asyncio.all_tasks()) == 1

    main()


@every_kind
@virtual_time
async def test_what_it_raises_when_it_is_closed_is_told_beside_the_outcomes(make: Make) -> None:
    with pytest.raises(ItemsError) as caught:
        await fan_out(work, make(Source(Boom("closing"))), cap=2, halt=Halt.on_failure())
    assert repr(caught.value.__cause__) == "Boom('closing')"
    assert [o.status for o in caught.value.outcomes] == ["done", "done", "done", "failed"]


@every_kind
@virtual_time
async def test_a_stream_tells_it_too(make: Make) -> None:
    with pytest.raises(ItemsError) as caught:
        async with fan_out_stream(work, make(Source(Boom("closing"))), cap=2) as stream:
            async for _ in stream:
                break
    assert repr(caught.value.__cause__) == "Boom('closing')"


@every_kind
@virtual_time
async def test_beside_another_error_it_is_a_note(make: Make) -> None:
    def predicate(outcome: object) -> bool:
        raise Boom("predicate")

    with pytest.raises(BadPredicate) as caught:
        items = make(Source(Boom("closing")))
        await fan_out(work, items, cap=2, halt=Halt.when(predicate))
    assert caught.value.__notes__ == ["the items raised Boom('closing') when they were closed"]


@virtual_time
async def test_ctrl_c_while_a_generator_is_closed_is_no_error_of_the_items() -> None:
    with pytest.raises(KeyboardInterrupt):
        items = Source(KeyboardInterrupt()).plain()
        await fan_out(work, items, cap=2, halt=Halt.on_failure())


@virtual_time
async def test_cancelling_ends_a_generator_that_does_not_come_to_its_end() -> None:
    ended = []

    async def items() -> AsyncIterator[int]:
        try:
            for item in range(10):
                yield item
        finally:
            try:
                await asyncio.sleep(1_000_000)
            finally:
                ended.append(asyncio.get_running_loop().time())

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(10):
            await fan_out(work, items(), cap=2, halt=Halt.on_failure())
    assert ended == [10.0]


@virtual_time
async def test_a_generator_may_order_the_halt_itself() -> None:
    closed = []
    async with open_run(journal=":memory:") as run:

        def items() -> Iterator[int]:
            try:
                run.halt()
                yield 1
            finally:
                closed.append(True)

        outcomes = await fan_out(work, items(), run=run)
    assert list(outcomes) == []
    assert closed == [True]


@virtual_time
async def test_an_iterator_that_is_no_generator_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("0\n1\n2\n3\n4\n5\n6\n")

    async def line(text: str) -> int:
        return await work(int(text))

    with path.open() as lines:
        await fan_out(line, lines, cap=1, halt=Halt.on_failure())
        assert lines.readline() == "4\n"
