"""Conditions, switches, loops and fan-ins: what they execute, and what they give."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from fanwise.errors import BadSpec
from fanwise.testing import virtual_time

from .running import World, output, statuses


@pytest.mark.parametrize(
    ("value", "case", "ran"),
    [(" a ", "a", "in_a"), ("b", "b", "in_b"), ("c", "__default__", "in_c")],
)
@virtual_time
async def test_a_switch_takes_the_case_of_its_value(
    value: str, case: str, ran: str, tmp_path: Path
) -> None:
    world = World(tmp_path)
    ending = await world.run(
        """
        - id: s
          type: switch
          expression: "{{ inputs.v }}"
          cases: {a: [{id: in_a, type: do}], b: [{id: in_b, type: do}]}
          default: [{id: in_c, type: do}]
        """,
        "inputs: {v: {type: string, default: ''}}\n",
        input={"v": value},
    )
    assert output(ending, "s") == {"expression_value": value, "matched_case": case}
    assert world.ran == [ran]


@virtual_time
async def test_loops_number_their_iterations_and_the_bare_id_is_the_latest(tmp_path: Path) -> None:
    world = World(tmp_path)
    ending = await world.run(
        """
        - id: outer
          type: while
          condition: "{{ (steps.count.output.gave | default(0)) < 3 }}"
          max_iterations: 5
          steps:
            - {id: count, type: do, give: "{{ (steps.count.output.gave | default(0)) + 1 }}"}
            - id: inner
              type: do-while
              condition: "{{ steps.tick.output.gave < steps.count.output.gave }}"
              steps: [{id: tick, type: do, give: 2}]
        - {id: after, type: do, give: "{{ steps.count.output.gave }}"}
        """
    )
    assert world.ran == [
        "count", "tick", "outer:count:1", "outer:tick:1", "outer:count:2", "outer:tick:2",
        *(f"outer:inner:2:tick:{n}" for n in range(1, 10)), "after",
    ]  # fmt: skip
    assert output(ending, "after") == {"gave": 3}
    assert output(ending, "count") == {"gave": 3}
    assert output(ending, "outer") == {
        "condition_result": True, "iterations": 3, "max_iterations": 5, "loop_type": "while",
    }  # fmt: skip


@virtual_time
async def test_a_while_whose_condition_is_false_runs_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    steps = "- {id: w, type: while, condition: false, steps: [{id: s, type: do}]}"
    ending = await world.run(steps)
    assert (world.ran, output(ending, "w")["iterations"]) == ([], 0)
    assert output(ending, "w")["condition_result"] is False


@virtual_time
async def test_a_fan_in_brings_outputs_together_and_is_seen_afterwards(tmp_path: Path) -> None:
    world = World(tmp_path)
    ending = await world.run(
        """
        - {id: one, type: do, give: 1}
        - {id: all, type: fan-out, items: [5, 6], step: {id: t, type: do, give: "{{ item }}"}}
        - id: join
          type: fan-in
          wait_for: [one, all]
          output:
            first: "{{ fan_in.results[0].gave }}"
            rest: "{{ fan_in.results[1].results | map('gave') | join('-') }}"
            plain: x
        - {id: after, type: do, give: "{{ fan_in.results[0].gave }}"}
        - {id: reach, type: do, give: "{{ steps.all:t:1.output.gave }}"}
        """
    )
    joined = output(ending, "join")
    assert (joined["first"], joined["rest"], joined["plain"]) == (1, "5-6", "x")
    assert joined["results"] == [{"gave": 1}, output(ending, "all")]
    assert (output(ending, "after"), output(ending, "reach")) == ({"gave": 1}, {"gave": 6})


@virtual_time
async def test_a_step_that_continues_on_error_is_failed_and_the_run_is_not(tmp_path: Path) -> None:
    world = World(tmp_path)
    ending = await world.run(
        """
        - {id: bad, type: do, fail: true, give: 7, continue_on_error: true}
        - {id: whole, type: if, condition: true, continue_on_error: true,
           then: [{id: x, type: do, fail: true}, {id: never, type: do}]}
        - {id: seen, type: do, give: "{{ steps.bad.status }} {{ steps.bad.output.gave }}"}
        """
    )
    assert ending.status == "completed"
    assert statuses(ending) == {
        "bad": "failed",
        "x": "failed",
        "whole": "failed",
        "seen": "completed",
    }
    assert output(ending, "seen") == {"gave": "failed 7"}


@virtual_time
async def test_items_that_are_no_list_are_an_error(tmp_path: Path) -> None:
    def steps(items: str) -> str:
        step = "{id: t, type: do}"
        return f'- {{id: a, type: do}}\n- {{id: f, type: fan-out, items: "{items}", step: {step}}}'

    world = World(tmp_path)
    ending = await world.run(steps("{{ steps.a.output.gone }}"))
    assert (ending.status, world.ran) == ("failed", ["a"])
    assert "the items of 'f'" in str(ending.facts["error"])
    with pytest.raises(BadSpec, match=r"`inputs\.v` is text, and a list is needed"):
        await World(tmp_path).run(
            steps("{{ inputs.v }}"), "inputs: {v: {type: string, default: abc}}\n"
        )


@virtual_time
async def test_all_steps_are_a_value_like_others(tmp_path: Path) -> None:
    """That of the moment: what comes later is not in it, and JSON can say it."""
    steps = """
    - {id: one, type: do, give: 1}
    - {id: all, type: fan-in, wait_for: [one], output: {seen: "{{ steps }}"}}
    - {id: two, type: do, give: "{{ steps }}"}
    """
    ending = await World(tmp_path).run(steps)
    assert ending.status == "completed"
    assert [*output(ending, "all")["seen"]] == ["one"]
    assert [*output(ending, "two")["gave"]] == ["one", "all"]
    msgspec.json.encode(ending.states)
