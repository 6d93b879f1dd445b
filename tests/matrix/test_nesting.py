"""A matrix inside a fan-out and inside a run: its own caps hold, else those around it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fanwise import Caps, fan_out, fan_out_sync, open_run
from fanwise.errors import NotOk, UsageError
from fanwise.kernel.events import Event, FanOutEnded, ItemStarted
from fanwise.matrix import Matrix, MatrixResult, exact, run_matrix, run_matrix_sync
from fanwise.testing import ScriptedModel

TEXT = "{{ input.text }}"


def matrix_of(model: ScriptedModel, cells: int = 6, **fields: Any) -> Matrix:
    inputs = [{"id": str(n), "text": f"number {n}", "label": "yes"} for n in range(cells)]
    fields.setdefault("score", exact("label"))
    return Matrix("m", models=model, inputs=inputs, prompts={"plain": TEXT}, **fields)


def model_of() -> ScriptedModel:
    return ScriptedModel(lambda _: "yes", name="scripted:one")


async def with_so_many_at_once(model: ScriptedModel, count: int, work: Any) -> Any:
    """What `work` gives, if at some moment exactly so many calls are in flight, and never more."""
    model.gate.close()

    async def watch() -> None:
        await model.gate.held(count)
        model.gate.open()

    _, found = await asyncio.wait_for(asyncio.gather(watch(), work), 60)
    assert model.most_in_flight == count
    return found


def answered(result: MatrixResult) -> int:
    return sum(each.status == "done" and "exact" in each.scores for each in result.cells)


def test_a_matrix_runs_inside_an_item() -> None:
    async def item(_: int) -> int:
        return answered(await run_matrix(matrix_of(model_of())))

    assert asyncio.run(fan_out(item, range(3))).values() == [6, 6, 6]


def test_a_matrix_runs_inside_sync_work() -> None:
    def item(_: int) -> int:
        return answered(run_matrix_sync(matrix_of(model_of())))

    assert fan_out_sync(item, range(2)).values() == [6, 6]


@pytest.mark.parametrize("most", [2, 100])
def test_matrices_without_caps_share_those_around_them_and_reach_them(most: int) -> None:
    """Also a cap that is larger than what a matrix without any would let in at once."""
    model, caps = model_of(), Caps(scripted=most)

    async def item(_: int) -> int:
        return answered(await run_matrix(matrix_of(model, cells=120)))

    async def main() -> None:
        outcomes = await with_so_many_at_once(model, most, fan_out(item, range(2), caps=caps))
        assert outcomes.values() == [120, 120]

    asyncio.run(main())
    assert caps.peak == {"scripted": most}


def test_the_caps_of_a_matrix_hold_inside_an_item() -> None:
    model = model_of()

    async def item(_: int) -> int:
        return answered(await run_matrix(matrix_of(model, caps={"scripted": 2})))

    async def main() -> None:
        await with_so_many_at_once(model, 2, fan_out(item, [0], caps=Caps(scripted=5)))

    asyncio.run(main())


def test_a_matrix_runs_inside_an_open_run_and_inside_its_items(tmp_path: Path) -> None:
    async def main() -> None:
        model = model_of()
        async with open_run("r", journal=tmp_path / "j.db", caps=Caps(scripted=3)) as run:
            assert answered(await run_matrix(matrix_of(model_of()))) == 6

            async def item(_: int) -> int:
                return answered(await run_matrix(matrix_of(model)))

            work = fan_out(item, range(2), run=run, name="f")
            assert (await with_so_many_at_once(model, 3, work)).values() == [6, 6]

    asyncio.run(main())


def test_no_queue_of_a_matrix_is_shown_among_the_caps() -> None:
    events: list[Event] = []
    model = model_of()
    made = matrix_of(model, caps={"scripted": 2}, score=[{"exact": "input.label"}])
    run_matrix_sync(made, subscribers=[events.append])
    started = [each for each in events if isinstance(each, ItemStarted)]
    assert len(started) == 12 and {each.needs for each in started} == {()}
    (ended,) = [each for each in events if isinstance(each, FanOutEnded)]
    assert set(ended.stats.peak) == set(ended.stats.work_s) == {"total", "scripted"}


MEET = 'touch "$$"; until [ "$(ls | wc -l)" -ge 2 ]; do sleep 0.01; done'
"""Two of them at once, or none ever ends."""


def test_programs_that_score_hold_the_cap_for_commands(tmp_path: Path) -> None:
    events: list[Event] = []
    score = [{"command": ["sh", "-c", MEET], "timeout": "60s"}]
    made = matrix_of(model_of(), caps={"command": 2}, score=score, folder=tmp_path)
    result = run_matrix_sync(made, subscribers=[events.append])
    assert [each.scores["command"].score for each in result.cells] == [1.0] * 6
    (ended,) = [each for each in events if isinstance(each, FanOutEnded)]
    assert ended.stats.peak["command"] == 2


def test_two_matrices_in_one_durable_run_are_kept_apart_and_resumed(tmp_path: Path) -> None:
    model = model_of()
    journal = tmp_path / "j.db"

    async def main() -> list[MatrixResult]:
        async with open_run("r", journal=journal) as run:
            first = await run_matrix(matrix_of(model, 2), run=run, name="first")
            second = await run_matrix(matrix_of(model, 3), run=run, name="second")

            async def item(_: int) -> int:
                inside = (await run_matrix(matrix_of(model, 4))).require()
                assert inside.run_id == "r"
                return sum(each.calls for each in inside.cells)

            assert (await fan_out(item, [0], run=run, name="f")).values() == [4]
            return [first, second]

    for _ in range(2):
        results = asyncio.run(main())
        assert [each.ok for each in results] == [True, True]
        assert [each.run_id for each in results] == ["r", "r"]
        assert [[cell.calls for cell in each.cells] for each in results] == [[1] * 2, [1] * 3]
        assert len(model.requests) == 9, "what was recorded is not asked for again"
    with open_run("r", journal=journal) as run:
        assert run.journal is not None
        assert list(run.journal.inputs("r")) == [], "the run is no matrix"


def test_what_a_part_of_a_run_cannot_do_is_said(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_run("r", journal=tmp_path / "j.db") as run:
            for wrong, match in (
                ({"rerun": "failed"}, "retry_failed=True"),
                ({"rerun": "all"}, "rerun is for a run of a matrix"),
                ({"subscribers": [print]}, "Give them to `open_run`"),
                ({"journal": tmp_path / "k.db"}, "Leave `journal` out"),
            ):
                with pytest.raises(UsageError, match=match):
                    await run_matrix(matrix_of(model_of()), run=run, **wrong)

    asyncio.run(main())


def test_a_cell_that_failed_is_not_ok_and_says_why() -> None:
    model = ScriptedModel([ValueError("no answer"), "yes"], name="scripted:one")
    result = run_matrix_sync(matrix_of(model, 2, retry=0))
    assert (result.ok, len(result.failures), result.run_id) == (False, 1, None)
    with pytest.raises(NotOk, match="1 of 2 cells failed; the first: ValueError: no answer"):
        result.require()


def test_a_cell_that_a_scorer_failed_on_is_a_failure_too() -> None:
    def broken(answer: str) -> float:
        raise ValueError("no score")

    result = run_matrix_sync(Matrix(models=model_of(), prompts="hi", inputs=["a"], score=broken))
    assert [(each.status, each.error) for each in result.failures] == [("done", None)]
    with pytest.raises(NotOk, match="1 of 1 cell could not be scored"):
        result.require()


def test_a_matrix_that_the_budget_cuts_short_is_not_ok() -> None:
    result = run_matrix_sync(matrix_of(model_of(), 3), budget={"requests": 2})
    assert (result.ok, result.failures, len(result.cells)) == (False, [], 2)
    assert "1 not run" in result.short
