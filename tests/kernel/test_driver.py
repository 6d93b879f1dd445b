"""The driver of systems, in virtual time: what follows what, and every way that it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from fanwise import Caps, Outcome, Retry, fan_out, open_run
from fanwise.core.ready_queue import QueueLimit
from fanwise.errors import UsageError
from fanwise.kernel.driver import Driver
from fanwise.testing import MemoryJournal, virtual_time

Follows = Callable[["Step", Outcome[Any]], Iterable["Step"]]


class Step(msgspec.Struct, frozen=True):
    """Takes so many seconds; a negative number: fails at once."""

    key: str
    seconds: float = 1.0


class Script:
    """Decides by a table: what follows a step, by its key. Over when all that it gave is known."""

    def __init__(self, *first: Step, then: dict[str, list[Step]] | None = None) -> None:
        self._first = first
        self._then = then or {}
        self._open = {step.key for step in first}
        self.taken: dict[str, Any] = {}
        self.decided_by: str | None = None
        """The step after which all is decided."""

    @property
    def over(self) -> bool:
        return not self._open or self.decided_by in self.taken

    def begin(self) -> Iterable[Step]:
        return self._first

    def take(self, item: Step, outcome: Outcome[Any]) -> Iterable[Step]:
        self.taken[item.key] = outcome.value if outcome.ok else repr(outcome.error)
        self._open.discard(item.key)
        following = self._then.get(item.key, [])
        self._open.update(step.key for step in following)
        return following


class Work:
    """Takes as long as each step says, and remembers when."""

    def __init__(self) -> None:
        self.began: dict[str, float] = {}
        self.ended: dict[str, float] = {}

    async def __call__(self, step: Step) -> str:
        loop = asyncio.get_running_loop()
        self.began[step.key] = loop.time()
        try:
            if step.seconds < 0:
                raise ValueError(step.key)
            await asyncio.sleep(step.seconds)
        finally:
            self.ended[step.key] = loop.time()
        return step.key.upper()


@virtual_time
async def test_what_follows_an_outcome_begins_at_once_and_waits_for_nobody_else() -> None:
    script = Script(
        Step("slow", 10), Step("a", 1), then={"a": [Step("b", 2)], "b": [Step("c"), Step("d")]}
    )
    work = Work()
    driver = Driver(script, work, cap=3)
    await driver.run()
    assert script.over
    assert script.taken == {"a": "A", "b": "B", "c": "C", "d": "D", "slow": "SLOW"}
    assert work.began == {"slow": 0, "a": 0, "b": 1, "c": 3, "d": 3}
    assert driver.stats is not None and driver.stats.peak == {"total": 3}
    assert driver.late == []


@virtual_time
async def test_failures_are_taken_like_any_outcome() -> None:
    script = Script(Step("a", -1), then={"a": [Step("instead")]})
    await Driver(script, Work()).run()
    assert script.taken == {"a": "ValueError('a')", "instead": "INSTEAD"}


@virtual_time
async def test_a_decider_that_is_over_from_the_start_ends_at_once() -> None:
    script = Script()
    await Driver(script, Work()).run()
    assert script.taken == {}
    assert asyncio.get_running_loop().time() == 0


@virtual_time
async def test_a_queue_has_no_more_in_the_fan_out_than_its_limit_and_holds_up_no_other() -> None:
    script = Script(Step("a1", 5), Step("a2", 5), Step("a3", 5), Step("b1"), Step("b2"))
    work = Work()
    driver = Driver(script, work, cap=9, limit=lambda step: QueueLimit(step.key[0], 2))
    await driver.run()
    assert work.began == {"a1": 0, "a2": 0, "b1": 0, "b2": 0, "a3": 5}
    assert driver.stats is not None and set(driver.stats.peak) == {"total"}


@virtual_time
async def test_what_becomes_ready_later_goes_first_if_it_is_more_urgent() -> None:
    ranks = {"first": 0.0, "x": 2.0, "y": 3.0, "urgent": 1.0}
    script = Script(
        Step("first", 3), Step("x", 3), Step("y", 3), then={"first": [Step("urgent", 1)]}
    )
    work = Work()
    await Driver(
        script,
        work,
        cap=1,
        limit=lambda step: QueueLimit("all", 1),
        rank=lambda step: ranks[step.key],
    ).run()
    assert list(work.began) == ["first", "urgent", "x", "y"]


@virtual_time
async def test_what_is_no_longer_needed_when_its_turn_comes_does_not_begin() -> None:
    class Enough(Script):
        """The others need not run once one is done."""

        def drop(self, step: Step) -> bool:
            if not self.taken:
                return False
            self._open.discard(step.key)
            return True

    script, work = Enough(Step("a"), Step("b"), Step("c")), Work()
    one = QueueLimit("all", 1)
    await Driver(script, work, limit=lambda step: one, drop=script.drop).run()
    assert list(work.began) == ["a"]
    assert script.over


@virtual_time
async def test_when_all_is_decided_the_rest_is_cancelled_awaited_and_told_apart() -> None:
    script = Script(Step("slow", 60), Step("also", 1), Step("wins", 1), Step("never", 1))
    script.decided_by = "wins"
    work = Work()
    driver = Driver(script, work, cap=3)
    await driver.run()
    assert asyncio.get_running_loop().time() == 1
    assert list(script.taken) == ["also", "wins"]
    # "never" got the permit of "also" in the same moment.
    assert {step.key: outcome.status for step, outcome in driver.late} == {
        "slow": "cancelled",
        "never": "cancelled",
    }
    assert work.ended["slow"] == 1
    assert len(asyncio.all_tasks()) == 1


@virtual_time
async def test_what_ended_beside_the_decision_is_late_and_not_lost() -> None:
    script = Script(Step("wins", 1), Step("beside", 1))
    script.decided_by = "wins"
    driver = Driver(script, Work())
    await driver.run()
    assert list(script.taken) == ["wins"]
    assert [(step.key, outcome.value) for step, outcome in driver.late] == [("beside", "BESIDE")]


@virtual_time
async def test_nothing_begins_after_the_decision() -> None:
    script = Script(Step("wins"), Step("slow", 9), then={"wins": [Step("follows")]})
    script.decided_by = "wins"
    driver = Driver(script, Work())
    await driver.run()
    assert [step.key for step, _ in driver.late] == ["slow"]


@virtual_time
async def test_after_is_awaited_before_what_follows_begins() -> None:
    script, work = Script(Step("a"), then={"a": [Step("b")]}), Work()
    seen: list[tuple[str, bool]] = []

    async def after(step: Step, outcome: Outcome[Any]) -> None:
        seen.append((step.key, step.key in script.taken))
        await asyncio.sleep(5)

    await Driver(script, work, after=after).run()
    assert seen == [("a", True), ("b", True)]
    assert work.began == {"a": 0, "b": 6}


@virtual_time
async def test_an_error_of_the_decider_cancels_what_is_in_flight_and_is_raised() -> None:
    class Broken(Script):
        def take(self, item: Step, outcome: Outcome[Any]) -> Iterable[Step]:
            raise LookupError(item.key)

    work = Work()
    driver = Driver(Broken(Step("a", 1), Step("slow", 60)), work)
    with pytest.raises(LookupError, match="a"):
        await driver.run()
    assert work.ended == {"a": 1, "slow": 1}
    assert [(step.key, outcome.status) for step, outcome in driver.late] == [("slow", "cancelled")]


@virtual_time
async def test_a_decider_that_forgets_to_be_over_is_an_error_and_no_hang() -> None:
    class Forgetful(Script):
        over = False

    with pytest.raises(UsageError, match="Forgetful is not over, but nothing is in flight"):
        await Driver(Forgetful(Step("a")), Work()).run()
    assert asyncio.get_running_loop().time() == 1


@virtual_time
async def test_cancelling_the_caller_cancels_and_awaits_all_and_the_outcomes_are_known() -> None:
    script, work = Script(Step("a", 60), Step("b", 60)), Work()
    driver = Driver(script, work)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await driver.run()
    assert work.ended == {"a": 5, "b": 5}
    assert {outcome.status for _, outcome in driver.late} == {"cancelled"}
    assert not script.over


@virtual_time
async def test_a_halt_from_outside_lets_what_runs_end_and_decides_nothing() -> None:
    script = Script(Step("a", 5), Step("b", 5), then={"a": [Step("follows")]})
    work = Work()
    async with open_run(journal=":memory:") as run:
        asyncio.get_running_loop().call_later(1, run.halt)
        await Driver(script, work, cap=1, run=run).run()
    assert list(work.began) == ["a"]
    assert script.taken == {"a": "A"}
    assert not script.over


@virtual_time
async def test_a_halt_that_leaves_nothing_in_flight_is_no_error_of_the_decider() -> None:
    script = Script(Step("a", 5), Step("b", 5))
    async with open_run(journal=":memory:") as run:
        asyncio.get_running_loop().call_later(1, run.halt)
        await Driver(script, Work(), caps=Caps(one=1), needs=lambda step: "one", run=run).run()
    assert script.taken == {"a": "A"}, "`b` was skipped"
    assert not script.over


@virtual_time
async def test_a_cancel_from_outside_decides_nothing() -> None:
    script, work = Script(Step("a", 5), Step("b", 1), then={"b": [Step("c", 9)]}), Work()
    async with open_run(journal=":memory:") as run:
        asyncio.get_running_loop().call_later(2, run.cancel)
        await Driver(script, work, run=run).run()
    assert work.ended == {"b": 1, "a": 2, "c": 2}
    assert list(script.taken) == ["b"]


def table() -> Script:
    return Script(
        Step("a", 1), Step("slow", 4), then={"a": [Step("b", 1), Step("x", -1)], "b": [Step("c")]}
    )


@virtual_time
async def test_a_resume_takes_recorded_outcomes_through_the_same_decisions() -> None:
    journal = MemoryJournal()

    async def execute(cancel_after: float) -> tuple[list[str], Script]:
        script, work = table(), Work()
        async with open_run("r", journal=journal) as run:
            cancel = asyncio.get_running_loop().call_later(cancel_after, run.cancel)
            await Driver(script, work, run=run, name="f").run()
            cancel.cancel()
        return sorted(work.began), script

    ran, script = await execute(cancel_after=1.5)
    assert ran == ["a", "b", "slow", "x"]
    assert list(script.taken) == ["a", "x"]
    ran, script = await execute(cancel_after=99)
    assert ran == ["b", "c", "slow"]
    assert script.over
    ran, script = await execute(cancel_after=99)
    assert ran == []
    assert script.taken == {
        "a": "A",
        "b": "B",
        "c": "C",
        "slow": "SLOW",
        "x": "ValueError('x')",
    }


@virtual_time
async def test_where_the_item_around_is_retried_recorded_failures_run_again() -> None:
    """Whatever `reuse` says of them; what went well is kept."""
    journal, work = MemoryJournal(), Work()
    asked: list[str] = []

    def reuse(step: Step, recorded: Outcome[Any]) -> bool:
        asked.append(step.key)
        return True

    async def item(_: int) -> None:
        script = Script(Step("good"), Step("bad", -1))
        work.began.clear()
        await Driver(script, work, name="inside", reuse=reuse).run()
        raise ValueError("once more")

    async with open_run("r", journal=journal) as run:
        await fan_out(item, [0], run=run, name="f", retry=Retry(1))
    assert list(work.began) == ["bad"]
    assert asked == ["good"]
