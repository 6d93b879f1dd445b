"""The properties of the pure schedule again, on the real kernel.

In virtual time, where whole seconds cost nothing; and in real time with milliseconds, on asyncio's
own loop and on uvloop, where timers are late and several things happen in one turn.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from fanwise import Caps, Retry, fan_out, fan_out_stream
from fanwise.kernel.run import open_run
from fanwise.testing import MemoryJournal, run_virtual
from tests.profiles import examples
from tests.worlds import Planned, World, sequential, worlds


class Failure(Exception):
    pass


class Clock(NamedTuple):
    """A way to run a world, and how long a second of it takes."""

    run: Callable[[Coroutine[Any, Any, None]], None]
    second: float


def _on_uvloop(main: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


VIRTUAL = Clock(run_virtual, 1.0)
CLOCKS = {
    "virtual time": VIRTUAL,
    "real time": Clock(asyncio.run, 0.001),
    "uvloop": Clock(_on_uvloop, 0.001),
}
on_every_clock = pytest.mark.parametrize("clock", CLOCKS.values(), ids=CLOCKS.keys())


class Watched:
    """Work that plays a world and keeps its own count of what runs."""

    def __init__(self, world: World, clock: Clock = VIRTUAL) -> None:
        self.world = world
        self.clock = clock
        self.attempts: Counter[int] = Counter()
        self.running: Counter[str] = Counter()
        self.ran_inside: list[tuple[int, int]] = []

    async def __call__(self, numbered: tuple[int, Planned]) -> int:
        index, item = numbered
        self.attempts[index] += 1
        self.enter(item)
        try:
            await asyncio.sleep(item.duration * self.clock.second)
            if item.inside:
                await self.nested(index, item)
        finally:
            self.leave(item)
        if self.attempts[index] <= item.bad_attempts or item.fails:
            raise Failure(index)
        return item.value

    async def nested(self, index: int, item: Planned) -> None:
        async def inner(numbered: tuple[int, Planned]) -> int:
            await asyncio.sleep(numbered[1].duration * self.clock.second)
            self.ran_inside.append((index, numbered[0]))
            if numbered[1].fails:
                raise Failure
            return numbered[1].value

        inside = World(item.inside, cap=2, halt=self.world.halt)
        outcomes = await fan_out(inner, list(enumerate(item.inside)), cap=2, halt=inside.rule)
        assert [(o.index, o.status, o.value) for o in outcomes] == sequential(inside)

    def enter(self, item: Planned) -> None:
        self.running["total"] += 1
        self.running.update(item.needs)
        assert self.running["total"] <= self.world.cap
        assert all(self.running[name] <= cap for name, cap in self.world.caps.items())

    def leave(self, item: Planned) -> None:
        self.running["total"] -= 1
        self.running.subtract(item.needs)


def needs(numbered: tuple[int, Planned]) -> dict[str, int]:
    return numbered[1].needs


def retry(work: Watched) -> Retry:
    """Failing items use up their attempts; bad attempts of good items are mended by them."""
    most = max((item.bad_attempts for item in work.world.items), default=0)
    return Retry(most, base_s=3.0 * work.clock.second)


async def play(world: World, work: Watched, **options: Any) -> None:
    caps = Caps(world.caps)
    before = asyncio.all_tasks()
    outcomes = await fan_out(
        work, list(enumerate(world.items)), cap=world.cap, caps=caps, needs=needs,
        halt=world.rule, retry=retry(work), **options,
    )  # fmt: skip
    assert [(o.index, o.status, o.value) for o in outcomes] == sequential(world)
    assert all(use == 0 for use in caps.in_use.values()), "permits were not returned"
    assert asyncio.all_tasks() == before, "a task was left behind"
    assert all(outcomes.stats.peak[name] <= cap for name, cap in world.caps.items())
    assert outcomes.stats.peak["total"] <= world.cap
    check_times(outcomes.stats.makespan_s, outcomes)


def check_times(makespan_s: float, outcomes: Any) -> None:
    """Promise 8: what is stored is what was: no attempt ran longer than the whole."""
    for outcome in outcomes:
        spent = outcome.queued_s + outcome.ran_s + outcome.backoff_s
        assert spent <= makespan_s + 1e-3


@examples(2)
@given(worlds())
def test_no_permit_is_idle_while_an_item_waits_that_could_use_it(world: World) -> None:
    """All durations are whole seconds: half a second later everyone who can go has gone."""
    items = tuple(replace(item, bad_attempts=0) for item in world.items)
    work = Watched(replace(world, items=items, halt="never"))

    def look() -> None:
        for index, item in enumerate(items):
            if not work.attempts[index]:
                room = work.running["total"] < world.cap
                fits = all(work.running[n] + u <= world.caps[n] for n, u in item.needs.items())
                assert not (room and fits), f"item {index} idles"

    async def main() -> None:
        loop = asyncio.get_running_loop()
        problems: list[AssertionError] = []

        def looking() -> None:
            try:
                look()
            except AssertionError as error:
                problems.append(error)

        for second in range(sum(item.duration for item in items) + 1):
            loop.call_later(second + 0.5, looking)
        await play(work.world, work)
        assert not problems

    run_virtual(main())


@on_every_clock
@examples(2)
@given(worlds(depth=1))
def test_outcomes_equal_the_sequential_run_for_leaf_and_for_nested_work(
    clock: Clock, world: World
) -> None:
    clock.run(play(world, Watched(world, clock)))


@on_every_clock
@examples(1)
@given(worlds(depth=1))
def test_the_same_holds_when_every_start_and_outcome_is_recorded(
    clock: Clock, world: World
) -> None:
    async def main() -> None:
        journal = MemoryJournal()
        async with open_run("r", journal=journal) as run:
            await play(world, Watched(world, clock), run=run)
        again = Watched(world, clock)
        async with open_run("r", journal=journal) as run:
            await play_again(world, again, run)

    async def play_again(world: World, work: Watched, run: Any) -> None:
        caps = Caps(world.caps)
        outcomes = await fan_out(
            work, list(enumerate(world.items)), cap=world.cap, caps=caps, needs=needs,
            halt=world.rule, retry=retry(work), run=run,
        )  # fmt: skip
        assert [(o.index, o.status, o.value) for o in outcomes] == sequential(world)
        assert all(o.recorded for o in outcomes), "a recorded outcome ran again"

    clock.run(main())


@on_every_clock
@examples(1)
@given(worlds(), st.integers(1, 4))
def test_an_ordered_stream_that_holds_little_comes_to_its_end(
    clock: Clock, world: World, most: int
) -> None:
    work = Watched(world, clock)

    async def main() -> None:
        stream = fan_out_stream(
            work, list(enumerate(world.items)), ordered=True, cap=world.cap,
            caps=Caps(world.caps), needs=needs, halt=world.rule, retry=retry(work),
        )  # fmt: skip
        stream.BUFFER, stream.AHEAD = most, 0
        async with stream:
            got = [(o.index, o.status, o.value) async for o in stream]
        assert got == sequential(world)

    clock.run(main())
