"""Fan-outs inside fan-outs, and single calls inside items: the same caps, no deadlock."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from fanwise import (
    Adaptive,
    Budget,
    Caps,
    Halt,
    Rate,
    RateLimited,
    Retry,
    Run,
    Usage,
    call,
    fan_out,
    fan_out_sync,
    open_run,
)
from fanwise.errors import (
    AttemptTimeout,
    BadPredicate,
    BudgetExceeded,
    NestedCap,
    UnknownCap,
    UsageError,
)
from fanwise.kernel.events import CapMoved
from fanwise.kernel.scope import path_here
from fanwise.testing import MemoryJournal, Recording, virtual_time


class Gauge:
    """Counts for itself how many are inside."""

    def __init__(self) -> None:
        self.now = self.most = self.calls = 0

    async def __call__(self, seconds: float = 1.0) -> float:
        self.now += 1
        self.calls += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(seconds)
        finally:
            self.now -= 1
        return seconds


@virtual_time
async def test_a_cap_held_by_an_item_that_fans_out_into_it_is_an_error_that_names_it() -> None:
    async def inner(_: int) -> None:
        pytest.fail("this would have waited for itself")

    async def outer(_: int) -> Any:
        return await fan_out(inner, range(2), needs=lambda _: "gpu")

    outcomes = await fan_out(outer, range(2), caps=Caps(gpu=2), needs=lambda _: "gpu")
    for outcome in outcomes:
        assert isinstance(outcome.error, NestedCap)
        assert outcome.error.name == "gpu"


@virtual_time
async def test_so_is_a_call_and_so_is_a_level_between() -> None:
    async def leaf() -> None:
        pytest.fail("this would have waited for itself")

    async def middle(_: int) -> None:
        await call(leaf, needs="gpu")

    async def outer(_: int) -> Any:
        return (await fan_out(middle, range(1))).values()

    [outcome] = await fan_out(outer, range(1), caps=Caps(gpu=9), needs=lambda _: "gpu")
    assert isinstance(outcome.error, ExceptionGroup)
    assert isinstance(outcome.error.exceptions[0], NestedCap)


@virtual_time
async def test_nested_fan_outs_share_their_caps_and_never_exceed_them() -> None:
    gauge = Gauge()
    caps = Caps(api=3)

    async def outer(_: int) -> Any:
        return await fan_out(lambda _: gauge(), range(5), cap=5, needs=lambda _: "api")

    outcomes = await fan_out(outer, range(4), cap=4, caps=caps)
    assert all(len(o.value) == 5 for o in outcomes)
    assert gauge.most == caps.peak["api"] == 3
    assert outcomes.stats.makespan_s == pytest.approx(20 / 3, abs=0.4)


@virtual_time
async def test_two_fan_outs_side_by_side_share_the_same_caps() -> None:
    gauge, caps = Gauge(), Caps(api=2)
    many = fan_out(lambda _: gauge(), range(50), cap=9, caps=caps, needs=lambda _: "api")
    few = fan_out(lambda _: gauge(), range(2), cap=9, caps=caps, needs=lambda _: "api")
    first, second = await asyncio.gather(many, few)
    assert gauge.most == 2
    assert first.stats.makespan_s == pytest.approx(26)
    assert first.values() == [1.0] * 50
    assert second.stats.makespan_s <= 4, "a short fan-out stood behind all of a long one"


def test_sync_work_may_fan_out_too_and_shares_the_caps_around_it() -> None:
    caps = Caps(api=2)
    peak = []

    def leaf(item: int) -> int:
        peak.append(caps.in_use["api"])
        return item

    def outer(item: int) -> list[int]:
        inside = fan_out_sync(leaf, range(3), needs=lambda _: "api")
        return inside.values()

    outcomes = fan_out_sync(outer, range(4), cap=4, caps=caps)
    assert outcomes.values() == [[0, 1, 2]] * 4
    assert max(peak) <= 2
    assert caps.in_use == {"api": 0}


# -- call ----------------------------------------------------------------------------------------


@virtual_time
async def test_a_call_is_bounded_wherever_it_is_made() -> None:
    """Three items with five judges each, cap 4: 4 in flight, not 15."""
    gauge = Gauge()

    async def item(_: int) -> None:
        await fan_out(lambda _: call(gauge, needs="api"), range(5), cap=5)

    outcomes = await fan_out(item, range(3), cap=3, caps=Caps(api=4))
    assert outcomes.values() == [None] * 3
    assert gauge.most == 4
    assert gauge.calls == 15


@virtual_time
async def test_a_call_waits_for_its_rate_without_holding_the_cap() -> None:
    at: list[float] = []
    loop = asyncio.get_running_loop()

    async def leaf() -> None:
        at.append(loop.time())

    caps = Caps(slow=(1, Rate(requests=6)))  # one in ten seconds
    await fan_out(lambda _: call(leaf, needs="slow"), range(4), cap=4, caps=caps)
    assert at == pytest.approx([0, 10, 20, 30], abs=1e-3)


@virtual_time
async def test_a_rate_binds_the_items_of_a_fan_out_as_well() -> None:
    at: list[float] = []
    loop = asyncio.get_running_loop()

    async def work(_: int) -> None:
        at.append(loop.time())

    await fan_out(work, range(4), cap=4, caps=Caps(slow=Rate(requests=6)), needs=lambda _: "slow")
    assert at == pytest.approx([0, 10, 20, 30], abs=1e-3)


@virtual_time
async def test_a_call_retries_with_its_permits_free_and_each_attempt_is_recorded() -> None:
    tries: Counter[str] = Counter()

    async def leaf(name: str) -> str:
        await asyncio.sleep(1)
        tries[name] += 1
        if name == "a" and tries[name] < 3:
            raise RateLimited(retry_after=100.0)
        return name

    async def item(name: str) -> str:
        return await call(leaf, name, needs="api", retry=Retry(5))

    outcomes = await fan_out(item, ["a", "b"], cap=2, caps=Caps(api=1))
    assert outcomes.values() == ["a", "b"]
    calls = [attempt for attempt in outcomes[0].attempts if attempt.call == "leaf"]
    assert [type(attempt.error).__name__ for attempt in calls] == [
        "RateLimited", "RateLimited", "NoneType",
    ]  # fmt: skip
    assert [round(attempt.backoff_s) for attempt in calls] == [0, 100, 100]
    assert [round(attempt.ran_s) for attempt in calls] == [1, 1, 1]
    assert outcomes[1].ran_s == pytest.approx(2), "b waited while a backed off"


@virtual_time
async def test_a_cancelled_call_gives_its_permit_and_its_reservation_back() -> None:
    caps, budget = Caps(api=1), Budget(tokens=10)
    gauge = Gauge()

    async def item(n: int) -> None:
        await call(gauge, 1e6, needs="api", estimate=Usage(tokens=10))

    task = asyncio.create_task(fan_out(item, range(3), caps=caps, budget=budget))
    await asyncio.sleep(5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert caps.in_use == {"api": 0}
    assert budget.reserved["tokens"] == 0


@virtual_time
async def test_a_call_has_a_time_out_of_its_own() -> None:
    gauge = Gauge()
    [outcome] = await fan_out(lambda _: call(gauge, 50.0, timeout=5.0), range(1))
    assert isinstance(outcome.error, AttemptTimeout)


def test_a_sync_call_runs_in_a_thread() -> None:
    async def item(n: int) -> int:
        return await call(lambda a, b: a + b, n, 1)

    async def main() -> list[int]:
        assert await call(lambda: 5) == 5  # outside of any fan-out too
        return (await fan_out(item, range(3))).values()

    assert asyncio.run(main()) == [1, 2, 3]


@virtual_time
async def test_a_call_that_needs_an_undeclared_cap_says_which() -> None:
    gauge = Gauge()
    [outcome] = await fan_out(lambda _: call(gauge, needs="apj"), range(1), caps=Caps(api=1))
    assert isinstance(outcome.error, UnknownCap)
    assert "Did you mean 'api'" in str(outcome.error)


@virtual_time
async def test_a_budget_is_never_overspent_by_calls_in_flight_together() -> None:
    """Each may cost 10 and costs 4: those in flight reserve, so the sum never exceeds 30."""
    spent = 0.0
    most = 0.0
    budget = Budget(tokens=30)

    async def leaf() -> float:
        nonlocal spent, most
        most = max(most, budget.spent["tokens"] + budget.reserved["tokens"])
        await asyncio.sleep(1)
        spent += 4
        return 4.0

    async def item(_: int) -> float:
        return await call(leaf, estimate=Usage(tokens=10), usage=lambda cost: Usage(tokens=cost))

    outcomes = await fan_out(item, range(20), cap=20, budget=budget)
    assert most <= 30
    assert spent == budget.spent["tokens"] == 24  # 7 more would not fit any more: 24 + 10 > 30
    assert len(outcomes.failures) == 14
    assert all(isinstance(o.error, BudgetExceeded) for o in outcomes.failures)


@virtual_time
async def test_a_usage_function_that_raises_is_an_error_and_leaks_no_permit() -> None:
    gauge, caps, budget = Gauge(), Caps(api=1), Budget(tokens=100)

    def usage(_: object) -> Usage:
        raise KeyError

    async def item(_: int) -> float:
        return await call(gauge, needs="api", estimate=Usage(tokens=10), usage=usage)

    outcomes = await fan_out(item, range(3), caps=caps, budget=budget)
    assert [type(o.error) for o in outcomes] == [BadPredicate] * 3
    assert caps.in_use == {"api": 0}
    assert budget.reserved["tokens"] == 0
    assert budget.spent["tokens"] == 30, "what cannot be measured counts as estimated"


@virtual_time
async def test_a_refused_call_shrinks_an_adaptive_cap_and_everyone_is_told() -> None:
    recording = Recording()
    storm = True

    async def leaf() -> None:
        await asyncio.sleep(1)
        if storm:
            raise RateLimited(retry_after=5.0)

    async def item(n: int) -> None:
        nonlocal storm
        await asyncio.sleep(0 if n < 8 else 1)
        try:
            await call(leaf, needs="api", retry=Retry(3))
        finally:
            storm = False

    caps = Caps(api=Adaptive(8, least=2))
    async with open_run(journal=":memory:", subscribers=[recording], caps=caps) as run:

        async def calm(_: int) -> None:
            nonlocal storm
            await asyncio.sleep(3)
            storm = False

        outcomes, _ = await asyncio.gather(
            fan_out(item, range(8), run=run), fan_out(calm, range(1), run=run)
        )
    assert outcomes.values() == [None] * 8
    moved = recording.of(CapMoved)
    assert (moved[0].before, moved[0].after, moved[0].reason) == (8, 4, "refused")


@virtual_time
async def test_halts_are_faithful_when_the_template_is_a_nested_fan_out() -> None:
    """An item is judged as a whole: nested failures halt where a sequential run would."""

    async def item(n: int) -> int:
        async def step(k: int) -> int:
            await asyncio.sleep((7 * n + 3 * k) % 5)
            if n == 1 and k == 2:
                raise ValueError
            return k

        return sum((await fan_out(step, range(4), cap=4, halt=Halt.on_failure())).values())

    one = await fan_out(item, range(6), cap=1, halt=Halt.on_failure())
    four = await fan_out(item, range(6), cap=4, halt=Halt.on_failure())
    assert [o.status for o in one] == [o.status for o in four] == ["done", "failed"]


@virtual_time
async def test_two_caps_objects_nested_in_both_orders_are_an_error_and_no_deadlock() -> None:
    first, second = Caps(a=1), Caps(b=1)

    async def leaf(_: int) -> None:
        await asyncio.sleep(1)

    async def a_then_b(_: int) -> Any:
        await asyncio.sleep(1)
        return (await fan_out(leaf, [0], caps=second, needs=lambda _: "b")).values()

    async def b_then_a(_: int) -> Any:
        await asyncio.sleep(1)
        return (await fan_out(leaf, [0], caps=first, needs=lambda _: "a")).values()

    one, two = await asyncio.gather(
        fan_out(a_then_b, [0], caps=first, needs=lambda _: "a"),
        fan_out(b_then_a, [0], caps=second, needs=lambda _: "b"),
    )
    assert one.values() == [[None]]
    assert isinstance(two[0].error, NestedCap)


@virtual_time
async def test_a_budget_and_a_cap_do_not_deadlock() -> None:
    """One holds the cap and wants the budget, the other has reserved and wants the cap."""

    async def leaf() -> None:
        await asyncio.sleep(1)

    async def holds_the_cap(_: int) -> None:
        await asyncio.sleep(1)
        await call(leaf, estimate=Usage(usd=1.0), usage=lambda _: Usage(usd=0.1))

    async def wants_the_cap(_: int) -> None:
        await call(leaf, needs="x", estimate=Usage(usd=1.0), usage=lambda _: Usage(usd=0.1))

    caps, budget = Caps(x=1), Budget(usd=1.5)
    both = await asyncio.gather(
        fan_out(holds_the_cap, [0], caps=caps, needs=lambda _: "x", budget=budget),
        fan_out(wants_the_cap, [0, 1], caps=caps, budget=budget),
    )
    assert [outcomes.values() for outcomes in both] == [[None], [None, None]]
    assert budget.spent["usd"] == pytest.approx(0.3)


@virtual_time
async def test_a_call_without_an_estimate_counts_as_a_request() -> None:
    async def leaf() -> None:
        await asyncio.sleep(1)

    budget = Budget(requests=3)
    outcomes = await fan_out(lambda _: call(leaf), range(9), budget=budget)
    assert [o.status for o in outcomes].count("done") == 3
    assert all(isinstance(o.error, BudgetExceeded) for o in outcomes.failures)


@virtual_time
async def test_permits_that_were_not_used_give_back_what_they_took_from_the_rate() -> None:
    """A call that finds no budget does not use up the rate of those that do."""
    loop = asyncio.get_running_loop()
    budget = Budget(tokens=10)
    at = []

    async def leaf(tokens: float) -> float:
        at.append(loop.time())
        await asyncio.sleep(100)
        return tokens

    async def item(tokens: float) -> float:
        return await call(
            leaf, tokens, needs="m", estimate=Usage(tokens=tokens), usage=lambda _: Usage(tokens=0)
        )

    caps = Caps(m=Rate(requests=6))  # one in ten seconds
    await fan_out(item, [10, 10, 10], cap=3, caps=caps, budget=budget)
    assert at == pytest.approx([0, 100, 200], abs=0.1)


@virtual_time
async def test_a_call_of_an_item_that_has_ended_is_told_so() -> None:
    late: list[asyncio.Task[None]] = []

    async def leaf() -> None:
        pytest.fail("it ran")

    async def afterwards() -> None:
        await asyncio.sleep(5)
        await call(leaf)

    async def item(_: int) -> None:
        late.append(asyncio.create_task(afterwards()))

    await fan_out(item, [0])
    with pytest.raises(UsageError, match="item 0 has ended"):
        await late[0]


def test_a_fan_out_from_a_thread_of_the_items_own_ends_with_the_item() -> None:
    finished: list[int] = []
    began = asyncio.Event()

    async def leaf(item: int) -> None:
        began.set()
        await asyncio.sleep(3600)
        finished.append(item)

    async def work(item: int) -> None:
        if item == 0:
            await began.wait()
            raise ValueError
        await asyncio.to_thread(fan_out_sync, leaf, range(2))

    async def main() -> None:
        outcomes = await fan_out(work, range(2), cap=2, halt=Halt.on_failure())
        assert [o.status for o in outcomes.discarded] == ["cancelled"]
        names = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]  # type: ignore[union-attr]
        assert not [name for name in names if "leaf" in name or "_in_scope" in name]

    asyncio.run(main())
    assert finished == []


def test_sync_code_that_swallows_exceptions_does_not_swallow_a_cancellation() -> None:
    began = asyncio.Event()

    async def leaf(item: int) -> None:
        began.set()
        await asyncio.sleep(3600)

    def swallows(item: int) -> str:
        try:
            fan_out_sync(leaf, [0])
        except Exception:
            return "as if nothing had been"
        return "done"

    async def work(item: int) -> Any:
        if item == 0:
            await began.wait()
            raise ValueError
        return (await fan_out(swallows, [0])).values()

    async def main() -> None:
        outcomes = await fan_out(work, range(2), cap=2, halt=Halt.on_failure())
        assert [o.status for o in outcomes.discarded] == ["cancelled"]

    asyncio.run(main())


# -- a system's own caps -------------------------------------------------------------------------


@virtual_time
async def test_a_system_in_an_item_has_caps_of_its_own_and_stays_within_those_around() -> None:
    gauge, slots = Gauge(), Gauge()

    async def leaf(_: int) -> None:
        await slots()
        await call(gauge, needs="api")

    async def system(_: int) -> Any:
        async with open_run(journal=":memory:", caps=Caps(slots=3)) as run:
            return (await fan_out(leaf, range(6), run=run, needs=lambda _: "slots")).values()

    outcomes = await fan_out(system, range(2), caps=Caps(api=2))
    outcomes.require()
    assert gauge.most == 2, "its own caps were a way past those around it"
    assert slots.most == 6, "each has slots of its own"
    assert outcomes.stats.work_s["api"] == 12


@virtual_time
async def test_caps_of_a_fan_out_inside_an_item_come_beside_those_around_it() -> None:
    api, disk = Gauge(), Gauge()

    async def leaf(_: int) -> None:
        await call(api, needs="api")
        await call(disk, needs="disk")

    async def item(_: int) -> None:
        (await fan_out(leaf, range(6), caps={"disk": 1})).require()

    (await fan_out(item, range(2), caps={"api": 2, "disk": 9})).require()
    assert api.most == 2, "caps of its own were a way past those around it"
    assert disk.most == 2, "of two with one name the inner one counts: one for each item"


@virtual_time
async def test_so_do_caps_of_a_fan_out_in_a_run_that_has_some() -> None:
    api, disk = Gauge(), Gauge()

    async def leaf(_: int) -> None:
        await call(api, needs="api")
        await call(disk, needs="disk")

    async with open_run(journal=":memory:", caps={"api": 2}) as run:
        (await fan_out(leaf, range(6), caps={"disk": 1}, run=run)).require()
    assert (api.most, disk.most) == (2, 1)


@virtual_time
async def test_caps_that_are_shared_are_shared_inside_items_that_have_others_around() -> None:
    gauge, shared = Gauge(), Caps(api=2)

    async def item(_: int) -> None:
        inside = await fan_out(lambda _: gauge(), range(3), caps=shared, needs=lambda _: "api")
        inside.require()

    both = [fan_out(item, range(2), caps=Caps({name: 1})) for name in ("a", "b")]
    for outcomes in await asyncio.gather(*both):
        outcomes.require()
    assert gauge.calls == 12
    assert gauge.most == shared.peak["api"] == 2


@virtual_time
async def test_where_a_fan_out_will_be_is_known_before_it_begins() -> None:
    """Also in a run of its own that is opened inside an item of another."""
    journal = MemoryJournal()
    foreseen: list[tuple[str, str]] = []

    async def begin(run: Run) -> None:
        foreseen.append((run.id, path_here("in/side", run)))
        await fan_out(lambda item: item, [0], run=run, name="in/side")

    async def item(_: int) -> None:
        async with open_run("own", journal=journal) as own:
            await begin(own)
        await begin(outer)

    async with open_run("outer", journal=journal) as outer:
        await begin(outer)
        await fan_out(item, [0], run=outer, name="f")
    recorded = {(run, each.path) for run in ("outer", "own") for each in journal.fan_outs(run)}
    assert recorded - {("outer", "f")} == set(foreseen)
    assert len(foreseen) == 3


@pytest.mark.parametrize("most", [1, 2])
@virtual_time
async def test_a_call_inside_a_call_is_refused_what_only_the_outer_one_could_give_back(
    most: int,
) -> None:
    """With a budget of 2 the item beside it might have given some back, so that is waited for."""

    async def leaf() -> None:
        await asyncio.sleep(1)

    async def outer() -> None:
        await asyncio.sleep(0.5)
        await call(leaf, estimate=Usage())

    async def item(n: int) -> None:
        await call(outer if n == 0 else leaf, estimate=Usage())

    budget = Budget(requests=most)
    fanned = fan_out(item, range(most), budget=budget)
    outcomes = await asyncio.wait_for(fanned, 100)
    assert [type(each.error) for each in outcomes] == [BudgetExceeded, type(None)][:most]
    assert asyncio.get_running_loop().time() <= 2
    assert (budget.spent["requests"], budget.reserved["requests"]) == (most, 0)
