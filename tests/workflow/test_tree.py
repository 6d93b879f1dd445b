"""What `fanwise show` says of a run while it runs, and after it was killed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from fanwise.testing import virtual_time
from fanwise.view.run_detail import detail_lines, run_detail
from fanwise.workflow.state.run_state import StepState, WorkflowState, read_run
from fanwise.workflow.steps.port import StepPlace
from fanwise.workflow.views.tree import tree_lines

from .running import World
from .support import file_of

STEPS = """
- {id: first, type: do}
- id: cond
  type: if
  condition: true
  then: [{id: plain, type: look}]
- id: all
  type: fan-out
  items: [0]
  step:
    id: whole
    type: switch
    expression: a
    cases:
      a:
        - {id: before, type: do}
        - {id: each, type: fan-out, items: [0], step: {id: leaf, type: look}}
- id: loop
  type: do-while
  condition: "{{ steps.turn.output.n < 1 }}"
  steps:
    - {id: turn, type: look}
- {id: sub, type: workflow, workflow: child.yaml}
- {id: last, type: do}
"""


@virtual_time
async def test_what_is_in_flight_stands_where_it_belongs(tmp_path: Path) -> None:
    seen: dict[str, list[list[str]]] = {}
    dead: dict[str, list[list[str]]] = {}

    async def look(fields: Mapping[str, Any], place: StepPlace) -> dict[str, Any]:
        run = world.journal.run("r")
        killed = msgspec.structs.replace(run, status="halted", owner=None)
        for found, record in ((seen, run), (dead, killed)):
            lines = list(tree_lines(read_run(world.journal, record), fully=True))
            # Depth, path, type and status.
            found[place.path] = [
                [str((len(line) - len(line.lstrip())) // 2), *line.split()[:3]] for line in lines
            ]
        return {"n": len(seen) - 3}

    (tmp_path / "child.yaml").write_text(file_of("- {id: inner, type: look}"))
    world = World(tmp_path, look=look)
    assert (await world.run(STEPS)).status == "completed"
    assert set(seen) == {"plain", "all:whole:0:each:leaf:0", "turn", "loop:turn:1", "sub:inner"}
    assert seen["plain"] == [
        ["0", "first", "do", "completed"],
        ["0", "cond", "if", "running"],
        ["1", "plain", "look", "running"],
        ["0", "all", "fan-out", "pending"],
        ["0", "loop", "do-while", "pending"],
        ["0", "sub", "workflow", "pending"],
        ["0", "last", "do", "pending"],
    ]
    deep = [
        ["0", "all", "fan-out", "running"],
        ["1", "all:whole:0", "switch", "running"],
        ["2", "all:whole:0:before", "do", "completed"],
        ["2", "all:whole:0:each", "fan-out", "running"],
        ["3", "all:whole:0:each:leaf:0", "look", "running"],
    ]
    here = seen["all:whole:0:each:leaf:0"]
    assert sorted(line for line in here if line[1].startswith("all")) == sorted(deep)
    assert ["1", "loop:turn:1", "look", "running"] in seen["loop:turn:1"]
    assert ["0", "loop", "do-while", "running"] in seen["loop:turn:1"]
    assert seen["sub:inner"][-3:] == [
        ["0", "sub", "workflow", "running"],
        ["1", "sub:inner", "look", "running"],
        ["0", "last", "do", "pending"],
    ]
    # When nobody executes it any more, nothing of it is running.
    statuses = {line[1]: line[3] for line in dead["all:whole:0:each:leaf:0"]}
    assert "running" not in statuses.values()
    assert statuses["all:whole:0"] == statuses["all:whole:0:each:leaf:0"] == "interrupted"
    assert statuses["all:whole:0:before"] == "completed"


@virtual_time
async def test_no_items_are_counted_where_all_so_far_are_inside_of_steps(tmp_path: Path) -> None:
    told: list[str] = []

    async def look(fields: Mapping[str, Any], place: StepPlace) -> dict[str, Any]:
        record = world.journal.run("r")
        tree = list(tree_lines(read_run(world.journal, record), fully=True))
        told.extend(detail_lines(run_detail(world.journal, record), tree))
        return {}

    world = World(tmp_path, look=look)
    await world.run(
        """
        - id: all
          type: fan-out
          items: [0]
          step: {id: t, type: if, condition: true, then: [{id: x, type: look}]}
        """
    )
    assert any("all:t:0:x" in line for line in told)
    assert [line for line in told if line.startswith("items ")] == []


@virtual_time
async def test_what_a_time_out_cut_short_was_cancelled_and_items_are_in_order(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    await world.run(
        """
        - id: all
          type: fan-out
          items: [1, 9, 9]
          max_concurrency: 3
          timeout: 3
          continue_on_error: true
          step:
            id: t
            type: if
            condition: true
            then: [{id: x, type: do, sleep: "{{ item }}"}]
        - {id: asks, type: gate, message: "Go on?"}
        """
    )
    lines = list(tree_lines(read_run(world.journal, world.journal.run("r")), fully=True))
    assert [line.split()[:3] for line in lines] == [
        ["all", "fan-out", "failed"],
        ["all:t:0", "if", "completed"],
        ["all:t:0:x", "do", "completed"],
        ["all:t:1", "if", "cancelled"],
        ["all:t:1:x", "do", "cancelled"],
        ["all:t:2", "if", "cancelled"],
        ["all:t:2:x", "do", "cancelled"],
        ["asks", "gate", "paused"],
    ]
    assert lines[-1].endswith("waits for --answer asks=approve|reject: Go on?")


@virtual_time
async def test_the_journal_has_the_same_state_as_the_run_that_wrote_it(tmp_path: Path) -> None:
    (tmp_path / "child.yaml").write_text(file_of("- {id: inner, type: do}"))
    world = World(tmp_path)
    ending = await world.run(
        """
        - {id: fails, type: do, fail: oh, continue_on_error: true}
        - {id: cond, type: if, condition: true, then: [{id: plain, type: do}]}
        - id: all
          type: fan-out
          items: [0, 1]
          step: {id: t, type: if, condition: true, then: [{id: x, type: do}]}
        - {id: sub, type: workflow, workflow: child.yaml}
        - {id: asks, type: gate, message: "Go on?"}
        """
    )
    recorded = read_run(world.journal, world.journal.run("r")).steps
    assert set(recorded) == set(ending.steps)
    for path, live in ending.steps.items():
        step = recorded[path]
        for name in ("path", "type", "status", "error", "inside"):
            assert getattr(step, name) == getattr(live, name), (path, name)
        assert step.output in (live.output, {}), path
    assert recorded["asks"].output == ending.steps["asks"].output


def test_items_and_iterations_stand_in_their_order() -> None:
    paths = ["all:t:10", "all:t:9", "all:t:2", "all:t:0"]  # as they began
    loop = ["a", "b", "loop:a:1", "loop:b:1", "loop:a:2"]
    steps = {
        path: StepState(path, "do", "completed", inside=inside, began=float(began))
        for inside, inner in (("all", paths), ("loop", loop))
        for began, path in enumerate(inner)
    }
    state = WorkflowState(steps, ["all", "loop"])
    assert [step.path for step in state.inside["all"]] == paths[::-1]
    assert [step.path for step in state.inside["loop"]] == loop


@virtual_time
async def test_a_step_that_is_skipped_now_is_shown_as_skipped(tmp_path: Path) -> None:
    world = World(tmp_path)
    steps = "- {id: a, type: do, if: '{{ inputs.on }}'}"
    more = "inputs: {on: {type: boolean, default: true}}\n"
    await world.run(steps, more)
    for on, status in ((False, "skipped"), (True, "completed"), (False, "skipped")):
        ending = await world.resume(steps, more, input={"on": on})
        shown = read_run(world.journal, world.journal.run("r")).steps["a"].status
        assert (ending.states["a"]["status"], shown) == (status, status)
