"""`on_end`: steps that run whenever an execution ends, whatever ended it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fanwise import fan_out, open_run, run_workflow
from fanwise.errors import BadSpec
from fanwise.testing import run_virtual

from .running import World, output, statuses
from .support import HEADER, file_of, problems

STEPS = "- {id: work, type: do, sleep: 100, fail: '{{ inputs.bad }}'}\n- {id: more, type: do}\n"
ENDS = """
inputs: {bad: {type: boolean, default: false}}
on_end:
- {id: tell, type: do, give: '{{ context.status }}: {{ context.error }}'}
- {id: clean, type: do, sleep: 5}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_it_runs_after_the_last_step_and_sees_how_that_ended(world: World) -> None:
    ending = run_virtual(world.run(STEPS, ENDS))
    assert world.ran == ["work", "more", "tell", "clean"]
    assert output(ending, "tell") == {"gave": "completed: "}
    assert ending.status == "completed"


def test_it_runs_after_a_failure_and_again_when_a_resume_did_more(world: World) -> None:
    ending = run_virtual(world.run(STEPS, ENDS, input=("bad=true",)))
    assert world.ran == ["work", "tell", "clean"]
    assert output(ending, "tell") == {"gave": "failed: work was told to fail"}
    assert (ending.status, ending.facts["error"]) == ("failed", "work was told to fail")

    ending = run_virtual(world.resume(STEPS, ENDS, input=("bad=false",)))
    assert world.ran[3:] == ["work", "more", "tell", "clean"]
    assert output(ending, "tell") == {"gave": "completed: "}

    run_virtual(world.resume(STEPS, ENDS))
    assert len(world.ran) == 7, "nothing was left to do, and it had run for that end"


def test_every_step_of_it_runs_and_its_failure_fails_the_run(world: World) -> None:
    ends = "on_end: [{id: a, type: do, fail: true}, {id: b, type: do}]"
    ending = run_virtual(world.run("- {id: x, type: do}", ends))
    assert statuses(ending) == {"x": "completed", "a": "failed", "b": "completed"}
    assert (ending.status, ending.failures) == ("failed", {"a": "a was told to fail"})


def test_it_does_not_run_when_the_run_pauses(world: World) -> None:
    steps = "- {id: ok, type: gate, message: 'Well?'}\n- {id: x, type: do}"
    ends = "on_end: [{id: a, type: do}]"
    assert run_virtual(world.run(steps, ends)).status == "paused"
    assert world.ran == []
    run_virtual(world.resume(steps, ends, answer=("ok=approve",)))
    assert world.ran == ["x", "a"]


@pytest.mark.parametrize(("order", "word"), [("halt", "halted"), ("cancel", "cancelled")])
def test_it_runs_after_a_halt_and_a_cancel_and_is_recorded(
    world: World, order: str, word: str
) -> None:
    async def main(ends: str) -> list[str]:
        plan = world.plan(STEPS, ends)
        async with open_run("r", journal=world.journal, spec=plan.spec) as run:
            asyncio.get_running_loop().call_later(50, getattr(run, order))
            ending = await plan.ending(run)
        assert ending.interrupted
        assert world.journal.run("r").status == word
        return [*ending.notes]

    assert run_virtual(main(ENDS)) == []
    assert world.ran == ["work", "tell", "clean"]
    recorded = {
        item.key: item
        for each in world.journal.fan_outs("r")
        for item in world.journal.items(each.id)
    }
    assert recorded["clean"].status == "done"
    assert f'"{word}: "' in (recorded["tell"].value or "")


def test_its_grace_ends(world: World) -> None:
    ends = f"{ENDS}on_end_grace: 3s\n"

    async def main() -> list[str]:
        plan = world.plan(STEPS, ends)
        async with open_run("r", journal=world.journal, spec=plan.spec) as run:
            asyncio.get_running_loop().call_later(50, run.cancel)
            ending = await plan.ending(run)
        assert asyncio.get_running_loop().time() == pytest.approx(53)
        return [*ending.notes]

    assert run_virtual(main()) == ["on_end was cut off after its grace period of 3 s"]
    assert world.cancelled == ["work", "clean"]


def test_another_cancel_ends_it_at_once(world: World) -> None:
    async def main() -> list[str]:
        plan = world.plan(STEPS, ENDS)
        async with open_run("r", journal=world.journal, spec=plan.spec) as run:
            asyncio.get_running_loop().call_later(50, run.cancel)
            asyncio.get_running_loop().call_later(52, run.cancel)
            ending = await plan.ending(run)
        assert asyncio.get_running_loop().time() == pytest.approx(52)
        return [*ending.notes]

    assert run_virtual(main()) == ["on_end was cut off: the run was cancelled"]


def test_it_runs_in_an_item_that_is_cancelled(tmp_path: Path) -> None:
    data = {
        "workflow": {"id": "w", "name": "W"},
        "steps": [{"id": "a", "type": "shell", "run": "echo began >> log; sleep 100"}],
        "on_end": [{"id": "b", "type": "shell", "run": "echo {{ context.status }} >> log"}],
    }

    async def item(_: int) -> None:
        await run_workflow(data, project=tmp_path)

    async def main() -> None:
        async with open_run(journal=tmp_path / "journal.db") as run:

            def cancel_when_it_began() -> None:
                if (tmp_path / "log").exists():
                    run.cancel()
                else:
                    asyncio.get_running_loop().call_later(0.02, cancel_when_it_began)

            cancel_when_it_began()
            await fan_out(item, [1], run=run, name="each")

    asyncio.run(main())
    assert (tmp_path / "log").read_text() == "began\ncancelled\n"


def test_what_cannot_stand_in_it_is_refused(world: World) -> None:
    steps = "- {id: a, type: shell, run: 'echo {{ context.status }}'}"
    ends = "on_end: [{id: g, type: gate, message: x}, {id: a, type: shell, run: y}]\n"
    found = [problem.message for problem in problems(file_of(steps, ends))]
    assert found == [
        "`context.status` is there only in `on_end`",
        "a gate cannot wait for an answer when the run ends",
        "'a' is there twice, and first in line 4",
    ]
    world.files = {"sub.yaml": HEADER + "steps: [{id: x, type: do}]\non_end: [{id: y, type: do}]\n"}
    with pytest.raises(BadSpec, match="only the file that is run can have `on_end`"):
        world.plan("- {id: s, type: workflow, workflow: sub.yaml}")
