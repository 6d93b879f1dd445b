"""For any workflow, what comes of it at any max_concurrency is what comes of it at 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fanwise.testing import run_virtual
from fanwise.workflow.report import Ending

from .running import World

Step = dict[str, Any]
ITEM = "{{ item }}"


@st.composite
def leaf(draw: st.DrawFn, in_item: bool) -> Step:
    step: Step = {"type": "do", "sleep": draw(st.integers(0, 5)), "give": draw(st.integers(0, 3))}
    if in_item:
        step["give"] = ITEM
        step["sleep"] = draw(st.sampled_from([1, "{{ 5 - item }}", ITEM]))
        step["fail"] = draw(st.sampled_from([False, "{{ item == 1 }}", "{{ item == 2 }}"]))
    else:
        step["fail"] = draw(st.sampled_from([False, False, False, True]))
    return step


@st.composite
def condition(draw: st.DrawFn, in_item: bool) -> Any:
    return draw(st.sampled_from([True, False, *(["{{ item > 1 }}", "{{ item == 0 }}"] * in_item)]))


@st.composite
def step(draw: st.DrawFn, depth: int, in_item: bool) -> Step:
    kinds = ["do", "if", "switch", "while", "fan-out", "fan-out"] if depth else ["do"]
    kind = draw(st.sampled_from(kinds))
    made = draw(leaf(in_item))
    inside = st.lists(step(depth - 1, in_item), min_size=1, max_size=2)
    if kind == "if":
        made = {"type": "if", "condition": draw(condition(in_item))}
        made |= {"then": draw(inside), "else": draw(inside)}
    elif kind == "switch":
        value = ITEM if in_item else draw(st.sampled_from(["0", "7"]))
        made = {"type": "switch", "expression": value, "cases": {"0": draw(inside)}}
        made["default"] = draw(inside)
    elif kind == "while":
        made = {"type": "while", "condition": draw(condition(in_item)), "steps": draw(inside)}
        made["max_iterations"] = draw(st.integers(1, 3))
    elif kind == "fan-out":
        items = [*range(draw(st.sampled_from([0, 1, 3, 4, 5])))]
        made = {"type": "fan-out", "items": items, "step": draw(step(depth - 1, True))}
        made["halt"] = draw(st.sampled_from(["failure", "never"]))
    made["continue_on_error"] = draw(st.sampled_from([False, False, True]))
    return made


def numbered(steps: list[Step], width: int) -> list[Step]:
    """With ids, and so many items at once."""
    count = iter(range(10_000))

    def number(given: Any) -> Any:
        if isinstance(given, list):
            return [number(each) for each in given]
        if not isinstance(given, dict):
            return given
        made = {name: number(value) for name, value in given.items()}
        if "type" in given:
            made["id"] = f"s{next(count)}"
        if given.get("type") == "fan-out":
            made["max_concurrency"] = width
        return made

    return [number(each) for each in steps]


def told(ending: Ending) -> Any:
    """All that can be seen of it, but how many were at work at once."""
    plain = json.loads(json.dumps([ending.facts, ending.states]))

    def without(value: Any) -> Any:
        if isinstance(value, list):
            return [without(each) for each in value]
        if isinstance(value, dict):
            return {k: without(v) for k, v in value.items() if k != "max_concurrency"}
        return value

    return without(plain)


async def outcome(steps: list[Step], width: int) -> tuple[Any, World]:
    world = World(Path("/"))
    lines = "\n".join(f"- {json.dumps(each)}" for each in numbered(steps, width))
    return told(await world.run(lines)), world


@settings(max_examples=150, deadline=None)
@given(st.lists(step(3, False), min_size=1, max_size=3), st.integers(2, 6))
def test_any_width_comes_to_what_one_at_a_time_comes_to(steps: list[Step], width: int) -> None:
    one, _ = run_virtual(outcome(steps, 1))
    many, _ = run_virtual(outcome(steps, width))
    assert many == one


@settings(max_examples=60, deadline=None)
@given(st.lists(step(3, False), min_size=1, max_size=3), st.integers(1, 4))
def test_a_resume_comes_to_the_same_and_runs_only_what_ended_it(
    steps: list[Step], width: int
) -> None:
    async def twice() -> None:
        lines = "\n".join(f"- {json.dumps(each)}" for each in numbered(steps, width))
        world = World(Path("/"))
        first = await world.run(lines)
        world.ran = []
        second = await world.resume(lines)
        assert told(second) == told(first)
        failed = {path for path, state in first.states.items() if state["status"] == "failed"}
        if first.status == "completed":
            assert world.ran == []
        elif width == 1:
            assert set(world.ran) <= failed

    run_virtual(twice())
