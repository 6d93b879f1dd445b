"""What spec-kit's engine gets wrong, measured, and what fanwise does instead: line by line.

The numbers are those of the section "Workflow" of the list of known shortfalls.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fanwise import open_run
from fanwise.errors import BadSpec, SpecChanged, UsageError
from fanwise.testing import MemoryJournal, virtual_time
from tests.processes.support import alive, pids_in, run, timed_out

from .running import World, output, statuses

# 1: head-of-line blocking

UNEVEN = [1, 0.05, 0.05, 0.05] * 5


@pytest.mark.parametrize("template", ["leaf", "nested"])
@virtual_time
async def test_1_no_item_waits_for_a_slow_one_before_it(template: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    step = '{id: one, type: do, sleep: "{{ item }}"}'
    if template == "nested":
        step = f"{{id: whole, type: if, condition: true, then: [{step}]}}"
    began = asyncio.get_running_loop().time()
    ending = await world.run(
        f"- {{id: all, type: fan-out, items: {UNEVEN}, max_concurrency: 4, step: {step}}}"
    )
    took = asyncio.get_running_loop().time() - began
    assert ending.status == "completed"
    # Five items of a second each and four at once: two of them share a place, whatever one does.
    possible = max(sum(UNEVEN) / 4, 2.0)
    assert took <= 1.15 * possible
    assert world.peak == 4


# 2: the halt prefix


@pytest.mark.parametrize("width", [1, 4, 6])
@pytest.mark.parametrize("kind", ["leaf", "if", "switch", "while", "fan-out"])
@virtual_time
async def test_2_the_prefix_of_a_halt_is_faithful_for_every_template(
    kind: str, width: int, tmp_path: Path
) -> None:
    leaf = '{id: x, type: do, sleep: "{{ 1 - item / 10 }}", fail: "{{ item == 1 }}"}'
    template = {
        "leaf": leaf,
        "if": f"{{id: t, type: if, condition: true, then: [{leaf}]}}",
        "switch": f"{{id: t, type: switch, expression: a, cases: {{a: [{leaf}]}}}}",
        "while": f"{{id: t, type: while, condition: true, max_iterations: 2, steps: [{leaf}]}}",
        "fan-out": f'{{id: t, type: fan-out, items: ["{{{{ item }}}}"], step: {leaf}}}',
    }[kind]
    world = World(tmp_path)
    ending = await world.run(
        f"- {{id: all, type: fan-out, items: [0, 1, 2, 3, 4, 5], max_concurrency: {width}, "
        f"step: {template}}}\n- {{id: after, type: do}}"
    )
    assert ending.status == "failed"
    assert len(output(ending, "all")["results"]) == 2
    assert "after" not in ending.states
    # And nothing of what was in flight behind it is told of.
    assert not [path for path in ending.states if path.split(":")[2:3] > ["1"]]


# 3: isolation


@virtual_time
async def test_3_another_item_s_failure_does_not_cut_a_loop_short(tmp_path: Path) -> None:
    world = World(tmp_path)
    ending = await world.run(
        """
        - id: all
          type: fan-out
          items: [healthy, sick, healthy]
          max_concurrency: 3
          continue_on_error: true
          step:
            id: t
            type: if
            condition: "{{ item == 'sick' }}"
            then: [{id: bad, type: do, fail: true}]
            else:
              - id: loop
                type: while
                condition: true
                max_iterations: 5
                steps: [{id: slow, type: do, sleep: 1}]
        """
    )
    assert ending.status == "completed"
    for item in (0, 2):
        assert output(ending, f"all:t:{item}:loop")["iterations"] == 5
        assert f"all:t:{item}:loop:slow:4" in world.ran
    assert [r["condition_result"] for r in output(ending, "all")["results"]] == [False, True, False]


@virtual_time
async def test_3_those_before_a_failure_finish_their_loops(tmp_path: Path) -> None:
    world = World(tmp_path)
    ending = await world.run(
        """
        - id: all
          type: fan-out
          items: [0, 1, 2]
          max_concurrency: 3
          step:
            id: t
            type: while
            condition: true
            max_iterations: 4
            steps: [{id: s, type: do, sleep: "{{ 1 - item / 2 }}", fail: "{{ item == 1 }}"}]
        """
    )
    assert ending.status == "failed"
    assert len(output(ending, "all")["results"]) == 2
    assert [p for p in world.ran if p.startswith("all:t:0")] == [
        "all:t:0:s", "all:t:0:s:1", "all:t:0:s:2", "all:t:0:s:3",
    ]  # fmt: skip
    assert world.cancelled == []  # item 2 takes no time, and had ended


# 4: collisions


@virtual_time
async def test_4_the_steps_inside_items_do_not_collide(tmp_path: Path) -> None:
    world = World(tmp_path)
    ending = await world.run(
        """
        - id: all
          type: fan-out
          items: [3, 1, 2]
          max_concurrency: 3
          step:
            id: t
            type: if
            condition: true
            then:
              - {id: first, type: do, give: "{{ item }}", sleep: "{{ item }}"}
              - {id: pause, type: do, sleep: 5}
              - {id: second, type: do, give: "{{ steps.first.output.gave * 10 }}"}
              - id: inner
                type: fan-out
                items: [1, 2]
                max_concurrency: 2
                step: {id: deep, type: do, give: "{{ steps.first.output.gave * 100 + item }}"}
        """
    )
    assert [output(ending, f"all:t:{n}:second")["gave"] for n in range(3)] == [30, 10, 20]
    deep = [output(ending, f"all:t:1:inner:deep:{n}")["gave"] for n in range(2)]
    assert deep == [101, 102]
    assert "first" not in ending.states


# 5: what is written


class Counting(MemoryJournal):
    def __init__(self) -> None:
        super().__init__()
        self.written = 0

    def submit(self, write: Any, then: Any = None) -> None:
        self.written += len(msgspec.json.encode(write))
        super().submit(write, then)


@pytest.mark.parametrize("template", ["leaf", "nested"])
@virtual_time
async def test_5_what_is_written_is_linear_in_the_items(template: str, tmp_path: Path) -> None:
    step = "{id: one, type: do}"
    if template == "nested":
        step = f"{{id: whole, type: if, condition: true, then: [{step}]}}"
    written = []
    for number in (100, 200, 400):
        journal = Counting()
        fan = f"- {{id: all, type: fan-out, items: {[*range(number)]}, step: {step}}}"
        ending = await World(tmp_path, journal).run(fan)
        assert len(output(ending, "all")["results"]) == number
        written.append(journal.written)
    assert (written[2] - written[1]) / (written[1] - written[0]) == pytest.approx(2, rel=0.1)


# 6: resume (SIGKILL is in test_kill.py)


@virtual_time
async def test_6_a_resume_runs_no_finished_item_again(tmp_path: Path) -> None:
    steps = """
        - {id: before, type: do}
        - id: all
          type: fan-out
          items: [0, 1, 2, 3, 4, 5]
          max_concurrency: 2
          step:
            id: t
            type: if
            condition: true
            then:
              - {id: a, type: do, sleep: 1}
              - {id: b, type: do, sleep: 1, fail: "{{ item == inputs.bad }}"}
        - {id: after, type: do}
    """
    more = "inputs: {bad: {type: number, default: 3}}\n"
    world = World(tmp_path)
    assert (await world.run(steps, more)).status == "failed"
    first, world.ran = world.ran, []
    ending = await world.resume(steps, more, input={"bad": 9})
    assert ending.status == "completed"
    assert "before" not in world.ran
    done = {f"all:t:{n}:{step}" for n in range(3) for step in "ab"} | {"all:t:3:a"}
    assert not done & set(world.ran)
    assert {"all:t:3:b", "all:t:4:b", "all:t:5:b", "after"} <= set(world.ran)
    assert len(output(ending, "all")["results"]) == 6
    assert len(first) == len(set(first))


# 7: run ids


@virtual_time
async def test_7_another_workflow_cannot_take_a_run_s_id(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.run("- {id: a, type: do}")
    plan = world.plan("- {id: b, type: do}")
    with pytest.raises(SpecChanged):
        async with open_run("r", journal=world.journal, spec=plan.spec, kind="workflow"):
            pass
    assert world.ran == ["a"]


def test_7_a_bad_input_leaves_nothing_behind(tmp_path: Path) -> None:
    world = World(tmp_path)
    more = "inputs: {n: {type: number, required: true}}\n"
    with pytest.raises(UsageError, match="'n': it must be a number"):
        world.plan("- {id: a, type: do}", more, input={"n": "many"})
    with pytest.raises(UsageError, match="'n' is missing"):
        _ = world.plan("- {id: a, type: do}", more).spec
    assert list(tmp_path.iterdir()) == []


# 8: ending, retrying, limiting


@virtual_time
async def test_8_what_is_in_flight_behind_a_halt_is_cancelled(tmp_path: Path) -> None:
    world = World(tmp_path)
    ending = await world.run(
        """
        - id: all
          type: fan-out
          items: [{s: 1, f: true}, {s: 100, f: false}, {s: 100, f: false}]
          max_concurrency: 3
          step: {id: t, type: do, sleep: "{{ item.s }}", fail: "{{ item.f }}"}
        """
    )
    assert ending.status == "failed"
    assert sorted(world.cancelled) == ["all:t:1", "all:t:2"]
    assert asyncio.get_running_loop().time() < 2


@virtual_time
async def test_8_retries_time_outs_and_caps(tmp_path: Path) -> None:
    tries: list[str] = []

    async def flaky(fields: Any, place: Any) -> dict[str, Any]:
        tries.append(place.path)
        if tries.count(place.path) < 3:
            raise ConnectionError("not yet")
        return {"tries": tries.count(place.path)}

    world = World(tmp_path, flaky=flaky)
    ending = await world.run(
        """
        - {id: again, type: flaky, retry: {times: 2, base: 10}}
        - {id: late, type: do, sleep: 50, timeout: 2, continue_on_error: true}
        - id: outer
          type: fan-out
          items: [0, 1, 2]
          max_concurrency: 3
          step:
            id: inner
            type: fan-out
            items: [0, 1, 2]
            max_concurrency: 3
            step: {id: leaf, type: do, sleep: 1, needs: gpu}
        """,
        "caps: {gpu: 2}\n",
    )
    assert ending.status == "completed"
    assert output(ending, "again") == {"tries": 3}
    assert statuses(ending)["late"] == "failed"
    assert "timed out after 2 s" in ending.states["late"]["error"]
    assert world.peak == 2  # not 9: a cap counts wherever it is needed


def test_8_a_time_out_ends_the_whole_family(tmp_path: Path) -> None:
    line = "sleep 300 & echo $! > child; sleep 300 & echo $! >> child; wait"
    steps = f"- {{id: slow, type: shell, timeout: 500, run: {line!r}}}"
    running = World(tmp_path).run(steps)
    ending = run(timed_out(running, 500, lambda: len(pids_in(tmp_path / "child")) == 2))
    assert ending.status == "failed"
    assert output(ending, "slow")["exit_code"] == -1
    started = pids_in(tmp_path / "child")
    assert len(started) == 2
    assert not [pid for pid in started if alive(pid)]


def test_8_bytes_that_are_not_utf_8_are_recorded(tmp_path: Path) -> None:
    program = "import sys; sys.stdout.buffer.write(b'a\\xff\\x00b'); sys.exit(3)"
    line = msgspec.json.encode(f"{shlex.quote(sys.executable)} -c {shlex.quote(program)}").decode()
    ending = asyncio.run(
        World(tmp_path).run(
            f"- {{id: odd, type: shell, continue_on_error: true, run: {line}}}\n"
            '- {id: after, type: do, give: "{{ steps.odd.output.exit_code }}"}'
        )
    )
    assert ending.status == "completed"
    assert output(ending, "odd")["stdout"] == "a\ufffd\u2400b"
    assert output(ending, "after") == {"gave": 3}


# 9: max_concurrency from an expression


@virtual_time
async def test_9_max_concurrency_may_be_an_expression(tmp_path: Path) -> None:
    world = World(tmp_path)
    fan = (
        "- {id: all, type: fan-out, items: [1, 2, 3, 4, 5, 6], "
        'max_concurrency: "{{ inputs.n }}", step: {id: t, type: do, sleep: 1}}'
    )
    ending = await world.run(fan, 'inputs: {n: {type: string, default: "3"}}\n')
    assert output(ending, "all")["max_concurrency"] == 3
    assert world.peak == 3


@virtual_time
async def test_9_one_that_is_no_number_is_an_error_and_not_one(tmp_path: Path) -> None:
    fan = (
        "- {id: all, type: fan-out, items: [1, 2], "
        'max_concurrency: "{{ inputs.n }}", step: {id: t, type: do}}'
    )
    with pytest.raises(BadSpec, match="max_concurrency of 'all' is 'many', not a whole number"):
        await World(tmp_path).run(fan, "inputs: {n: {type: string, default: many}}\n")


# 10: exceptions


@virtual_time
async def test_10_an_exception_loses_no_results(tmp_path: Path) -> None:
    async def broken(fields: Any, place: Any) -> dict[str, Any]:
        if fields["n"] == 2:
            raise LookupError("a bug")
        return {"n": fields["n"]}

    world = World(tmp_path, broken=broken)
    ending = await world.run(
        "- {id: all, type: fan-out, items: [0, 1, 2, 3], max_concurrency: 4, "
        'step: {id: t, type: broken, n: "{{ item }}"}}'
    )
    assert ending.status == "failed"
    assert "LookupError: a bug" in str(ending.facts["error"])
    assert output(ending, "all")["results"] == [{"n": 0}, {"n": 1}, {}]


# 11: what commands and prompts print


def test_11_commands_and_prompts_capture_what_they_print(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_text('#!/bin/sh\necho "did: $*"\necho careful >&2\nexit ${CODE:-0}\n')
    agent.chmod(0o755)
    (tmp_path / ".fanwise").mkdir()
    ours = f'{{argv: [{agent}, -p, "{{prompt}}"], invoke: "/{{command}} {{args}}"}}'
    (tmp_path / ".fanwise" / "integrations.yaml").write_text(f"integrations: {{ours: {ours}}}")
    ending = asyncio.run(
        World(tmp_path).run(
            """
            - {id: p, type: prompt, integration: ours, prompt: "Say {{ inputs.what }}"}
            - {id: c, command: speckit.plan, integration: ours, model: big, input: {args: "x y"}}
            - {id: u, type: do, give: "{{ steps.c.output.stdout | trim }}"}
            """,
            "inputs: {what: {type: string, default: hello}}\n",
        )
    )
    assert ending.status == "completed"
    assert output(ending, "p")["stdout"] == "did: -p Say hello\n"
    assert output(ending, "p")["stderr"] == "careful\n"
    assert output(ending, "c")["exit_code"] == 0
    assert output(ending, "u") == {"gave": "did: -p /speckit.plan x y --model big"}
