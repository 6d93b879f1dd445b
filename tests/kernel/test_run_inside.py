from __future__ import annotations

import asyncio
from pathlib import Path

from fanwise import Budget, Usage, call, fan_out, open_run
from fanwise.kernel.run_inside import RunInside


async def spend() -> str:
    return "spent"


async def work(item: int, done: list[int], fail: bool) -> None:
    inside = RunInside()

    async def step(number: int) -> str:
        done.append(number)
        inside.note("step", number)
        inside.end_as("failed", "its own affair")
        return await call(spend, estimate=Usage(tokens=100), name="spend")

    for _ in range(2):
        await fan_out(step, [1, 2], run=inside, cap=1, key=str)
    if fail:
        raise ValueError("killed about here")


def execute(folder: Path, done: list[int], *, fail: bool, budget: Budget | None = None) -> str:
    async def main() -> str:
        async with open_run("r", journal=folder / "j.db", budget=budget, retry_failed=True) as run:
            found = await fan_out(lambda item: work(item, done, fail), [0], run=run, name="all")
        return "done" if found[0].ok else repr(found[0].error)

    return asyncio.run(main())


def test_nothing_of_it_is_found_again_and_what_it_spent_is_known(tmp_path: Path) -> None:
    done: list[int] = []
    assert "killed" in execute(tmp_path, done, fail=True)
    assert done == [1, 2, 1, 2]

    budget = Budget(tokens=1000)
    assert execute(tmp_path, done, fail=False, budget=budget) == "done"
    assert done == [1, 2, 1, 2] * 2
    assert budget.spent["tokens"] == 800


def test_it_is_within_the_budget_around(tmp_path: Path) -> None:
    budget = Budget(tokens=250)
    execute(tmp_path, [], fail=False, budget=budget)

    assert budget.spent["tokens"] == 200


def test_what_it_says_of_itself_is_not_said_of_the_run_around(tmp_path: Path) -> None:
    execute(tmp_path, [], fail=False)

    with open_run("r", journal=tmp_path / "j.db") as run:
        assert run.journal is not None
        assert run.record is not None
        assert run.record.status != "failed"
        assert [event for event in run.journal.events("r") if event.kind == "step"] == []


def test_outside_of_an_item_it_is_a_run_in_memory() -> None:
    async def main() -> list[str]:
        outcomes = await fan_out(lambda _: spend(), [0], run=RunInside(), name="all")
        return [str(each.unwrap()) for each in outcomes]

    assert asyncio.run(main()) == ["spent"]


def test_two_in_one_item_have_places_of_their_own(tmp_path: Path) -> None:
    async def one(_: int) -> None:
        for _ in range(2):
            await fan_out(lambda _: spend(), [0], run=RunInside(), name="same")

    async def main() -> list[str]:
        async with open_run("r", journal=tmp_path / "j.db") as run:
            (await fan_out(one, [0], run=run, name="all")).values()
            assert run.journal is not None
            return [each.path for each in run.journal.fan_outs("r")]

    paths = asyncio.run(main())
    assert len(set(paths)) == 3
    assert all(path.endswith("/same") for path in paths if path != "all")
