"""A resume halts where the first execution was halted, and runs nothing beyond."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fanwise import Halt, Outcome, Outcomes, fan_out, open_run
from fanwise.errors import RateLimited
from fanwise.testing import MemoryJournal, virtual_time


class Refused(Exception):
    """A class that no journal knows, with a field that none can hold."""

    def __init__(self) -> None:
        self.response = object()
        super().__init__("refused")


class Work:
    """Item 3 fails, one way or another; keeps who ran."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.ran: list[str] = []

    async def __call__(self, item: str) -> str:
        self.ran.append(item)
        await asyncio.sleep(1)
        if item == "item 3" and self.error is not None:
            raise self.error
        return item


ITEMS = [f"item {number}" for number in range(8)]
Predicate = Callable[[Outcome[Any]], bool]


async def execute(
    journal: MemoryJournal, work: Work, halt: Halt, *, items: list[str] = ITEMS, **options: Any
) -> Outcomes[str]:
    async with open_run("r", journal=journal, **options.pop("opening", {})) as run:
        return await fan_out(work, items, cap=2, run=run, halt=halt, key=str, **options)


def brief(outcomes: Outcomes[str]) -> list[tuple[str, str]]:
    return [(o.key, o.status) for o in outcomes]


UP_TO_3 = [("item 0", "done"), ("item 1", "done"), ("item 2", "done"), ("item 3", "failed")]


@pytest.mark.parametrize(
    ("error", "predicate"),
    [
        (ValueError("no"), lambda o: isinstance(o.error, ValueError)),
        (RateLimited("no", 3.0), lambda o: getattr(o.error, "retry_after", None) == 3.0),
        (Refused(), lambda o: isinstance(o.error, Refused)),
        (Refused(), lambda o: o.error is not None and o.error.response is not None),
    ],
    ids=["built-in", "ours", "unknown class", "lost field"],
)
@virtual_time
async def test_what_a_predicate_said_is_said_once(error: Exception, predicate: Predicate) -> None:
    journal = MemoryJournal()
    first = await execute(journal, Work(error), Halt.when(predicate))
    assert brief(first) == UP_TO_3
    for _ in range(2):
        work = Work(error)
        again = await execute(journal, work, Halt.when(predicate))
        assert brief(again) == UP_TO_3
        assert again.halted_by is again[3]
        assert work.ran == []


@virtual_time
async def test_it_is_not_asked_again_though_it_would_raise() -> None:
    def predicate(outcome: Outcome[Any]) -> bool:
        return isinstance(outcome.error, Refused) or bool(outcome.index == 3 and 1 / 0)

    journal = MemoryJournal()
    await execute(journal, Work(Refused()), Halt.when(predicate))
    assert brief(await execute(journal, Work(None), Halt.when(predicate))) == UP_TO_3


def is_refused(outcome: Outcome[Any]) -> bool:
    return isinstance(outcome.error, Refused)


@pytest.mark.parametrize("how", [{"opening": {"retry_failed": True}}, {"reuse": lambda _, o: o.ok}])
@virtual_time
async def test_an_item_that_runs_again_is_judged_again_and_the_old_halt_is_gone(how: Any) -> None:
    journal = MemoryJournal()
    await execute(journal, Work(Refused()), Halt.when(is_refused))
    work = Work(None)
    second = await execute(journal, work, Halt.when(is_refused), **how)
    assert work.ran == ITEMS[3:]
    assert all(outcome.ok for outcome in second)
    work = Work(None)
    third = await execute(journal, work, Halt.when(is_refused))
    assert brief(third) == brief(second)
    assert work.ran == []


@virtual_time
async def test_with_another_kind_of_halt_it_goes_on() -> None:
    journal = MemoryJournal()
    await execute(journal, Work(Refused()), Halt.when(is_refused))
    work = Work(None)
    assert len(await execute(journal, work, Halt.never())) == len(ITEMS)
    assert work.ran == ITEMS[4:]


@virtual_time
async def test_the_item_is_known_by_its_key_wherever_it_stands_now() -> None:
    journal = MemoryJournal()
    await execute(journal, Work(Refused()), Halt.when(is_refused))
    items = ["item 1", "item 3", "new", *ITEMS[4:]]
    work = Work(None)
    again = await execute(journal, work, Halt.when(is_refused), items=items)
    assert brief(again) == [("item 1", "done"), ("item 3", "failed")]
    assert work.ran == []


@virtual_time
async def test_it_holds_inside_items_that_are_tried_again_too() -> None:
    journal = MemoryJournal()
    ran: list[str] = []

    async def leaf(item: str) -> str:
        ran.append(item)
        return item

    seen: set[str] = set()

    def once(outcome: Outcome[str]) -> bool:
        """An answer that no recorded value gives again."""
        fresh = outcome.key not in seen
        seen.add(outcome.key)
        return fresh and outcome.key == "b"

    async def work(item: int) -> list[str]:
        inside = await fan_out(leaf, ["a", "b", "c"], key=str, cap=1, halt=Halt.when(once))
        return inside.values()

    for _ in range(2):
        async with open_run("r", journal=journal) as run:
            again = await fan_out(work, [1], run=run, reuse=lambda *_: False)
        assert again[0].value == ["a", "b"]
    assert ran == ["a", "b"]
