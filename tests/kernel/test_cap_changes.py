"""Limits that are changed while a run is executed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from fanwise import Caps, Exclusive, Rate, call, fan_out, open_run
from fanwise.kernel.feed import Feed
from fanwise.testing import MemoryJournal, run_virtual


class Meter:
    """Work that takes a second, and how much of it is in flight."""

    def __init__(self) -> None:
        self.now = 0
        self.seen: list[int] = []

    async def __call__(self, _: object = None) -> None:
        self.now += 1
        self.seen.append(self.now)
        await asyncio.sleep(1)
        self.now -= 1


async def at(seconds: float, ask: Callable[[], None]) -> None:
    await asyncio.sleep(seconds)
    ask()


def moves(journal: MemoryJournal) -> list[dict[str, Any]]:
    return [json.loads(event.data) for event in journal.events("r", "cap")]


def test_the_total_goes_up_and_down_and_the_next_fan_out_has_it_too() -> None:
    journal, meter, second = MemoryJournal(), Meter(), Meter()

    async def main() -> None:
        async with open_run("r", journal=journal) as run:
            asking = [
                at(2.5, lambda: journal.request_caps("r", {"total": 3})),
                at(4.5, lambda: journal.request_caps("r", {"total": 1})),
            ]
            items = fan_out(meter, range(20), cap=2, run=run)
            await asyncio.gather(*asking, items)
            stats = (await fan_out(second, range(3), cap=2, run=run)).stats
            assert stats.peak["total"] == 1

    run_virtual(main())
    assert max(meter.seen[:6]) == 2
    assert max(meter.seen) == 3
    assert meter.seen[-1] == 1, "when it was lowered, what was in flight ended first"
    assert second.seen == [1, 1, 1]
    told = [
        (each["name"], each["before"], each["after"], each["reason"]) for each in moves(journal)
    ]
    assert told[:2] == [("total", 2, 3, "asked"), ("total", 3, 1, "asked")]


def test_a_cap_of_the_run_holds_for_calls_in_all_of_its_fan_outs() -> None:
    journal, meter = MemoryJournal(), Meter()

    async def work(_: int) -> None:
        await call(meter, needs="openai")

    async def main() -> None:
        async with open_run("r", journal=journal, caps={"openai": 1}) as run:
            asking = at(1.5, lambda: journal.request_caps("r", {"openai": 4}))
            both = (fan_out(work, range(5), cap=9, run=run) for _ in range(2))
            await asyncio.gather(asking, *both)

    run_virtual(main())
    assert meter.seen[:2] == [1, 1]
    assert max(meter.seen) == 4
    (began,) = [json.loads(event.data) for event in journal.events("r", "caps")]
    assert began == {"openai": 1, "total": 9}


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"openai": 0}, "a cap is at least 1"),
        ({"opnai": 3}, "it has no such cap; it has gpu, openai, slow, total"),
        ({"gpu": 3}, "it is exclusive"),
        ({"slow": 3}, "it is a rate"),
    ],
)
def test_what_cannot_be_changed_is_refused_with_the_reason(asked: dict[str, int], why: str) -> None:
    journal = MemoryJournal()

    async def work(_: int) -> None:
        journal.request_caps("r", asked)
        await asyncio.sleep(1)

    async def main() -> None:
        caps = Caps(openai=2, gpu=Exclusive(2), slow=Rate(requests=9))
        async with open_run("r", journal=journal, caps=caps) as run:
            (await fan_out(work, [1], cap=1, run=run)).require()
            assert caps.current == {"openai": 2, "gpu": 2, "slow": None}

    run_virtual(main())
    (answer,) = moves(journal)
    assert why in answer["refused"]


def test_how_many_items_of_a_system_run_at_once_is_its_own_decision() -> None:
    journal, feed = MemoryJournal(), Feed[int]()

    async def work(_: int) -> None:
        journal.request_caps("r", {"total": 5})
        await asyncio.sleep(1)
        feed.close()

    async def main() -> None:
        async with open_run("r", journal=journal) as run:
            feed.add(1)
            await fan_out(work, feed, cap=1, run=run)

    run_virtual(main())
    (answer,) = moves(journal)
    assert "its system decides" in answer["refused"]
