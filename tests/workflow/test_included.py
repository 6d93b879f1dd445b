"""Files as steps of others: what holds in them, and for how long."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fanwise.errors import BadSpec
from fanwise.testing import virtual_time

from .running import World, output
from .support import HEADER

MAIN = "- {id: sub, type: workflow, workflow: child.yaml}"
FAN = """
steps:
  - id: each
    type: fan-out
    items: [0, 1, 2, 3]
    max_concurrency: 4
    step: {id: t, type: do, sleep: 1, needs: gpu}
"""


def child(tmp_path: Path, text: str) -> None:
    (tmp_path / "child.yaml").write_text(HEADER + text)


@virtual_time
async def test_the_caps_of_an_included_file_hold_in_it(tmp_path: Path) -> None:
    child(tmp_path, "caps: {gpu: 2}" + FAN)
    world = World(tmp_path)
    ending = await world.run(MAIN)
    assert (ending.status, world.peak) == ("completed", 2)
    assert len(output(ending, "sub")["steps"]["each"]["results"]) == 4
    # What was recorded in there is found again.
    assert (await world.resume(MAIN)).status == "completed"
    assert len(world.ran) == 4


@virtual_time
async def test_a_failure_under_the_caps_of_an_included_file_is_the_step_s(tmp_path: Path) -> None:
    child(tmp_path, "caps: {gpu: 2}\nsteps: [{id: x, type: do, fail: true, needs: gpu}]\n")
    ending = await World(tmp_path).run(MAIN)
    assert (ending.status, ending.facts["current_step_id"]) == ("failed", "sub:x")


@virtual_time
async def test_the_including_file_s_word_on_a_cap_counts(tmp_path: Path) -> None:
    child(tmp_path, "caps: {gpu: 2}" + FAN)
    world = World(tmp_path)
    assert (await world.run(MAIN, "caps: {gpu: 3, other: 1}\n")).status == "completed"
    assert world.peak == 3


def test_a_cap_that_is_too_small_for_an_included_file_is_refused(tmp_path: Path) -> None:
    inner = "caps: {gpu: 2}\nsteps: [{id: x, type: shell, run: c, needs: {gpu: 2}}]\n"
    child(tmp_path, "steps: [{id: deeper, type: workflow, workflow: inner.yaml}]\n")
    (tmp_path / "inner.yaml").write_text(HEADER + inner)
    World(tmp_path).plan(MAIN, "caps: {gpu: 2}\n")
    with pytest.raises(BadSpec) as caught:
        World(tmp_path).plan(MAIN, "caps: {gpu: 1}\n")
    (problem,) = caught.value.problems
    assert (problem.field, problem.line) == ("caps.gpu", 5)
    assert problem.message.startswith("'x' in ")
    assert problem.message.endswith("inner.yaml needs 2 of it, not only 1")


@virtual_time
async def test_a_rate_of_an_included_file_holds_in_it(tmp_path: Path) -> None:
    child(tmp_path, "rates: {gpu: {rpm: 60}}" + FAN)
    world = World(tmp_path)
    began = asyncio.get_running_loop().time()
    await world.run(MAIN)
    took = asyncio.get_running_loop().time() - began
    assert took >= 3, "four starts at one a second, each a second long"


def test_a_budget_in_an_included_file_is_refused_with_its_place(tmp_path: Path) -> None:
    child(tmp_path, "budget: {usd: 1}\nsteps: [{id: x, command: c}]\n")
    with pytest.raises(BadSpec, match=r"child.yaml:3:9: budget: a run has one budget") as caught:
        World(tmp_path).plan(MAIN)
    assert caught.value.problems[0].field == "steps[0].workflow"


@virtual_time
async def test_to_stop_after_a_step_means_that_of_the_file_itself(tmp_path: Path) -> None:
    child(tmp_path, "steps: [{id: build, type: do}, {id: more, type: do}]\n")
    steps = f"""
    {MAIN}
    - {{id: build, type: do}}
    - {{id: last, type: do}}
    """
    world = World(tmp_path)
    ending = await world.run(steps, stop_after="build")
    assert world.ran == ["sub:build", "sub:more", "build"]
    assert (ending.status, ending.facts["current_step_id"]) == ("paused", "build")


@virtual_time
async def test_a_gate_in_a_file_takes_a_verdict_whatever_the_input_is_called(
    tmp_path: Path,
) -> None:
    gate = '{id: g, type: gate, message: "?", on_reject: retry, verdict_input: word}'
    child(tmp_path, "inputs: {word: {type: string}}\n" + f"steps: [{gate}]\n")
    steps = """
    - id: sub
      type: workflow
      workflow: child.yaml
      input: {word: "{{ inputs.verdict | trim }}"}
    """
    more = "inputs: {verdict: {type: string, default: ''}, word: {type: string, default: ''}}\n"
    world = World(tmp_path)
    assert (await world.run(steps, more)).status == "paused"
    for _ in range(2):  # the same word once more is a new verdict
        ending = await world.resume(steps, more, input={"verdict": "reject"})
        assert output(ending, "sub:g")["choice"] == "reject"
    # An input of the same name as the file's is another one, and gives nothing anew.
    ending = await world.resume(steps, more, input={"word": "approve"})
    assert (ending.status, output(ending, "sub:g")["choice"]) == ("paused", None)
    assert (await world.resume(steps, more, input={"verdict": "approve"})).status == "completed"
