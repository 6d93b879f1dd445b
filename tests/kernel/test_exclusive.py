"""An exclusive cap in the kernel: benchmarks alone, checks side by side, neither kept out."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from fanwise import Caps, Exclusive, Halt, call, fan_out
from fanwise.errors import NestedCap
from fanwise.testing import virtual_time

SLOTS = 2


class Stages:
    """Checks that meet in pairs; benchmarks that see who else is there."""

    def __init__(self) -> None:
        self.pairs = asyncio.Barrier(SLOTS)
        self.inside: list[str] = []
        self.order: list[str] = []
        self.benchmarks: list[float] = []

    async def check(self, *, alone: bool) -> None:
        self._enter("check")
        assert "benchmark" not in self.inside
        if not alone:
            await self.pairs.wait()
        await asyncio.sleep(1)
        self.inside.remove("check")

    async def benchmark(self) -> None:
        self._enter("benchmark")
        self.benchmarks.append(asyncio.get_running_loop().time())
        assert self.inside == ["benchmark"]
        await asyncio.sleep(3)
        assert self.inside == ["benchmark"]
        self.inside.remove("benchmark")

    def _enter(self, stage: str) -> None:
        self.inside.append(stage)
        self.order.append(stage)


@virtual_time
async def test_benchmarks_run_alone_between_checks_and_no_proposal_waits_for_them() -> None:
    stages, proposed = Stages(), []

    async def candidate(n: int) -> None:
        if n >= 12:  # those that a model is still writing
            await call(asyncio.sleep, 5, needs="model")
            proposed.append(asyncio.get_running_loop().time())
            return
        # When one of the first two ends, 2 goes; then a benchmark waits, and 3 has to.
        await call(partial(stages.check, alone=n in (2, 11)), needs="cpu")
        await call(stages.benchmark, needs={"cpu": SLOTS})

    caps = Caps(cpu=Exclusive(SLOTS), model=1)
    outcomes = await fan_out(candidate, range(16), cap=16, caps=caps)
    assert not outcomes.failures
    # With a plain cap the first benchmark would begin after the last check, at 6.
    assert min(stages.benchmarks) == 2.0
    runs = [stages.order[:4], stages.order[4:13], stages.order[13:]]
    assert runs == [
        [*["check"] * 3, "benchmark"],
        [*["check"] * 8, "benchmark"],
        ["check", *["benchmark"] * 10],
    ]
    assert proposed == [5.0, 10.0, 15.0, 20.0]
    # One permit idled for a second, when the first benchmark's turn came, and for the odd check.
    assert outcomes.stats.makespan_s == 12 / SLOTS * 1 + 12 * 3 + 1


@virtual_time
async def test_items_of_two_fan_outs_take_turns_as_calls_do() -> None:
    caps, order = Caps(cpu=Exclusive(2)), []

    async def work(needs: int) -> None:
        order.append(needs)
        assert caps.in_use["cpu"] == needs or needs == 1
        await asyncio.sleep(1)

    async def some(n: int, units: int) -> None:
        await fan_out(work, [units] * n, cap=n, caps=caps, needs=lambda u: {"cpu": u})

    async with asyncio.TaskGroup() as both:
        both.create_task(some(20, 1))
        both.create_task(some(3, 2))
    assert order == [1, 1, 2, *[1] * 8, 2, *[1] * 8, 2, 1, 1]
    assert caps.peak == {"cpu": 2}
    assert caps.in_use == {"cpu": 0}


@virtual_time
async def test_a_benchmark_that_is_given_up_lets_the_checks_behind_it_go_at_once() -> None:
    began: dict[int, float] = {}

    async def timed(n: int, seconds: float) -> None:
        began[n] = asyncio.get_running_loop().time()
        await asyncio.sleep(seconds)

    async def item(n: int) -> None:
        if n == 1:
            await asyncio.sleep(0.5)
            async with asyncio.timeout(2):
                await call(timed, n, 1, needs={"cpu": 2})
        await asyncio.sleep(n)
        await call(timed, n, 10, needs="cpu")

    outcomes = await fan_out(item, range(3), cap=3, caps=Caps(cpu=Exclusive(2)))
    assert [o.status for o in outcomes] == ["done", "failed", "done"]
    assert began == {0: 0.0, 2: 2.5}


@virtual_time
async def test_a_halt_that_skips_a_waiting_benchmark_lets_others_of_the_cap_go_at_once() -> None:
    caps, began = Caps(cpu=Exclusive(2)), []

    async def halting(n: int) -> None:
        await asyncio.sleep(3)
        raise ValueError

    async def one(seconds: float) -> None:
        began.append(asyncio.get_running_loop().time())
        await asyncio.sleep(seconds)

    async def others() -> None:
        await asyncio.sleep(1)
        await fan_out(one, [1], caps=caps, needs=lambda _: "cpu")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(fan_out(one, [50], caps=caps, needs=lambda _: "cpu"))
        tasks.create_task(
            fan_out(
                halting, [0, 1], cap=2, caps=caps, halt=Halt.on_failure(),
                needs=lambda n: {"cpu": 2} if n else None,
            )
        )  # fmt: skip
        tasks.create_task(others())
    assert began == [0.0, 3.0]


@virtual_time
async def test_needing_the_whole_of_a_cap_while_holding_a_part_is_an_error_that_names_it() -> None:
    async def item(_: int) -> None:
        await call(asyncio.sleep, 1, needs={"cpu": 2})

    outcomes = await fan_out(item, [0], caps=Caps(cpu=Exclusive(2)), needs=lambda _: "cpu")
    with pytest.raises(NestedCap, match="'cpu' is needed inside an item that already holds 'cpu'"):
        raise outcomes[0].error or AssertionError
