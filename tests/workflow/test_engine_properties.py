"""For any workflow, what comes of it at any max_concurrency is what comes of it at 1."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fanwise.errors import StepFailed
from fanwise.testing import run_virtual
from fanwise.workflow.report import Ending
from fanwise.workflow.steps.port import Place

from .running import World

Step = dict[str, Any]
ITEM = "{{ item }}"
FIRST = "FIRST"
"""Stands in a loop's condition for the id of its first step."""


class Chances(World):
    """A world with steps of type `chance`."""

    def __init__(self) -> None:
        super().__init__(Path("/"), chance=self.chance)

    async def chance(self, fields: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Takes as long, and fails or not, as its seed and its path have it."""
        self.ran.append(place.path)
        drawn = random.Random(f"{fields['seed']} {place.path}")
        await asyncio.sleep(drawn.randint(0, 5))
        output = {"gave": drawn.randint(0, 3)}
        if drawn.random() < 0.2:
            raise StepFailed(f"{place.path} had no luck", output)
        return output


@st.composite
def leaf(draw: st.DrawFn, in_item: bool) -> Step:
    kind = draw(st.sampled_from(["do", "do", "do", "chance", "chance", "gate"]))
    if kind == "chance":
        return {"type": "chance", "seed": draw(st.integers(0, 1000))}
    if kind == "gate":
        return {"type": "gate", "message": "?"}
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
    holding = ["if", "switch", "while", "do-while", "fan-out", "fan-out"]
    kinds = ["leaf", *holding] if depth else ["leaf"]
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
    elif kind in ("while", "do-while"):
        luck = "{{ (steps.FIRST.output.gave | default(1)) > 0 }}"
        wanted = draw(st.one_of(condition(in_item), st.just(luck)))
        made = {"type": kind, "condition": wanted, "steps": draw(inside)}
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
        if FIRST in str(given.get("condition")):
            made["condition"] = given["condition"].replace(FIRST, made["steps"][0]["id"])
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
    world = Chances()
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
        world = Chances()
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
