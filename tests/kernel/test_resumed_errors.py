"""After a resume an outcome's error is as usable as it was before."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fanwise import Command, Outcomes, fan_out, open_run
from fanwise.errors import AttemptTimeout, CommandFailed, RateLimited, RecordedError, StepFailed
from fanwise.testing import MemoryJournal, virtual_time


class Mine(ValueError):
    pass


def error_of(item: str) -> Exception:
    errors: dict[str, Exception] = {
        "built-in": KeyError("k"),
        "ours": RateLimited("slow", retry_after=2.0),
        "step": StepFailed("no", {"exit": 3}),
        "group": ExceptionGroup("two", [OSError(2, "gone"), AttemptTimeout(3)]),
        "mine": Mine("mine"),
    }
    return errors[item]


async def work(item: str) -> None:
    if item == "library":
        json.loads("{")
    raise error_of(item)


ITEMS = ["built-in", "ours", "step", "group", "mine", "library"]


async def twice(work: Any, items: list[Any]) -> Outcomes[Any]:
    journal = MemoryJournal()
    for _ in range(2):
        async with open_run("r", journal=journal) as run:
            outcomes: Outcomes[Any] = await fan_out(work, items, run=run)
    assert all(o.recorded for o in outcomes)
    return outcomes


@virtual_time
async def test_it_can_be_caught_by_its_class() -> None:
    outcomes = await twice(work, ITEMS)
    by_item = dict(zip(ITEMS, outcomes, strict=True))
    with pytest.raises(KeyError, match="k"):
        by_item["built-in"].unwrap()
    with pytest.raises(RateLimited) as limited:
        by_item["ours"].unwrap()
    assert limited.value.retry_after == 2.0
    with pytest.raises(StepFailed) as step:
        by_item["step"].unwrap()
    assert step.value.result == {"exit": 3}
    with pytest.raises(ExceptionGroup) as group:
        by_item["group"].unwrap()
    assert group.value.subgroup(FileNotFoundError) is not None
    assert group.value.subgroup(AttemptTimeout) is not None
    for item in ("mine", "library"):
        with pytest.raises(ValueError) as mine:
            by_item[item].unwrap()
        assert isinstance(mine.value, RecordedError)
        assert mine.value.type_name.endswith(("Mine", "JSONDecodeError"))


@virtual_time
async def test_a_failed_command_has_its_whole_result() -> None:
    [outcome] = await twice(Command("sh", "-c", "echo out; echo err >&2; exit 3"), ["x"])
    assert isinstance(outcome.error, CommandFailed)
    assert outcome.error.result == outcome.value
    assert outcome.error.result.stdout.text == "out\n"
