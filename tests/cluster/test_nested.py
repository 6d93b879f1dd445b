"""Calls and fan-outs inside an item: bounded, paid for and recorded by the driver, anywhere."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fanwise import Budget, Caps, Ray, Usage, fan_out, fan_out_stream, open_run
from fanwise.errors import BudgetExceeded, UnknownCap, UsageError
from fanwise.kernel.workers import On
from tests.cluster import works
from tests.cluster.test_contract import appears


def test_calls_keep_within_the_caps_of_the_driver(on: On | None) -> None:
    outcomes = asyncio.run(fan_out(works.three_calls, range(6), cap=6, caps=Caps(api=2), on=on))
    assert outcomes.values() == [[10 * n, 10 * n + 1, 10 * n + 2] for n in range(6)]
    assert outcomes.stats.peak["api"] == 2
    calls = [each for each in outcomes[0].attempts if each.call == "noted"]
    assert [each.usage for each in calls] == [Usage(tokens=5)] * 3
    assert {each.caps for each in calls} == {("api",)}


def test_an_unknown_cap_is_the_error_of_the_item(on: On | None) -> None:
    (outcome,) = asyncio.run(fan_out(works.three_calls, [1], caps=Caps(other=1), on=on))
    assert isinstance(outcome.error, UnknownCap)


def test_calls_are_paid_from_the_budget_of_the_driver(on: On | None) -> None:
    budget = Budget(tokens=20)
    outcomes = asyncio.run(
        fan_out(works.three_calls, range(3), cap=1, caps=Caps(api=3), budget=budget, on=on)
    )
    assert [each.status for each in outcomes] == ["done", "failed", "failed"]
    assert isinstance(outcomes[1].error, BudgetExceeded)
    assert budget.spent["tokens"] == 20


def test_calls_are_retried_and_recorded_by_the_driver(on: On | None, tmp_path: Path) -> None:
    async def main() -> list[Any]:
        async with open_run("r", journal=tmp_path / "j.db") as run:
            work = works.FlakyCall(str(tmp_path))
            outcomes = await fan_out(work, [4], caps=Caps(api=1), run=run, on=on)
            assert outcomes.values() == [4]
            await run.note_on_disk("end", {})
            assert run.journal is not None
            (one,) = run.journal.fan_outs("r")
            return [*run.journal.attempts(one.id)]

    calls = [each for each in asyncio.run(main()) if each.call == "flaky"]
    assert [each.error is None for each in calls] == [False, True]


def test_a_fan_out_inside_an_item_is_bounded_and_recorded(on: On | None, tmp_path: Path) -> None:
    async def main() -> tuple[list[Any], list[str]]:
        async with open_run("r", journal=tmp_path / "j.db") as run:
            outcomes = await fan_out(
                works.nested, [1, 2], caps=Caps(api=1), run=run, name="outer", on=on
            )
            await run.note_on_disk("end", {})
            assert run.journal is not None
            return outcomes.values(), [each.path for each in run.journal.fan_outs("r")]

    values, paths = asyncio.run(main())
    assert values == [[11, 12], [21, 22]]
    assert sorted(paths) == ["outer", "outer/0/inside", "outer/1/inside"]


def test_a_resume_does_not_repeat_what_was_done_inside(on: On | None, tmp_path: Path) -> None:
    folder = tmp_path / "tries"
    folder.mkdir()
    work = works.NestedHere(str(folder))

    async def main(retry_failed: bool) -> Any:
        async with open_run("r", journal=tmp_path / "j.db", retry_failed=retry_failed) as run:
            reuse = None if not retry_failed else (lambda item, outcome: False)
            return await fan_out(work, [0], run=run, name="outer", reuse=reuse, on=on)

    assert asyncio.run(main(False)).values() == [[0, 1, 2, 3]]
    assert asyncio.run(main(True)).values() == [[0, 1, 2, 3]]
    assert len(list(folder.iterdir())) == 4


def test_a_cancel_reaches_a_call_inside_and_its_permit_comes_back(
    on: On | None, tmp_path: Path
) -> None:
    caps = Caps(api=1)

    async def main() -> None:
        async with fan_out_stream(works.long_call, [str(tmp_path)] * 2, caps=caps, on=on):
            await appears(tmp_path, "*.begun", 1)
        assert len(list(tmp_path.glob("*.cleaned"))) == 1

    asyncio.run(main())
    assert caps.ledger.idle


@pytest.mark.slow
def test_a_worker_that_dies_in_a_fan_out_inside_gives_back_permits_and_keeps_what_is_done(
    cluster: Ray, tmp_path: Path
) -> None:
    folder = tmp_path / "tries"
    folder.mkdir()
    work = works.NestedHere(str(folder), deadly=True)

    async def main() -> Any:
        async with open_run("r", journal=tmp_path / "j.db") as run:
            return await fan_out(work, [0], run=run, name="outer", on=cluster)

    (outcome,) = asyncio.run(main())
    assert outcome.value == [0, 1, 2, 3]
    assert outcome.may_have_run_twice
    assert sorted(each.name for each in folder.iterdir()) == ["0-0", "1-0", "2-0", "2-1", "3-0"]


@pytest.mark.slow
@pytest.mark.parametrize("work", [works.sync_that_fans_out, works.streams])
def test_what_does_not_work_on_a_worker_is_refused(cluster: Ray, work: Any) -> None:
    (outcome,) = asyncio.run(fan_out(work, [0], on=cluster))
    assert isinstance(outcome.error, UsageError)
    assert "on a worker" in str(outcome.error)
