"""For any workflow: what comes of it at any max_concurrency is what comes of it at 1; a resume
repeats nothing that was final; and attempts at a whole come to what resumes come to.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fanwise.testing import run_virtual
from fanwise.workflow.report import Ending
from fanwise.workflow.steps.port import Place

from .running import World

Step = dict[str, Any]
ITEM = "{{ item }}"
BEFORE, CHILD = "<before>", "<child>"
"""Stand for the ids of the step before, and of the first step inside."""


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
    seen = [f"{{{{ steps.{BEFORE}.status == 'failed' }}}}", f"{{{{ steps.{BEFORE}.output.gave }}}}"]
    return draw(
        st.sampled_from([True, False, *seen, *(["{{ item > 1 }}", "{{ item == 0 }}"] * in_item)])
    )


@st.composite
def until(draw: st.DrawFn, in_item: bool) -> Any:
    seen = [f"{{{{ steps.{CHILD}.status != '{word}' }}}}" for word in ("failed", "completed")]
    return draw(st.one_of(st.sampled_from(seen), condition(in_item)))


KINDS = ["do", "if", "switch", "while", "do-while", "fan-in", "fan-out", "fan-out"]


@st.composite
def step(draw: st.DrawFn, depth: int, in_item: bool) -> Step:
    kind = draw(st.sampled_from(KINDS if depth else ["do"]))
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
        made = {"type": kind, "condition": draw(until(in_item)), "steps": draw(inside)}
        made["max_iterations"] = draw(st.integers(1, 3))
    elif kind == "fan-in":
        made = {"type": kind, "wait_for": [BEFORE], "output": {"last": "{{ fan_in.results }}"}}
    elif kind == "fan-out":
        items = [*range(draw(st.sampled_from([0, 1, 3, 4, 5])))]
        made = {"type": "fan-out", "items": items, "step": draw(step(depth - 1, True))}
        made["halt"] = draw(st.sampled_from(["failure", "never"]))
    made["continue_on_error"] = draw(st.sampled_from([False, False, True]))
    if draw(st.integers(0, 3)) == 0:
        made["retry"] = draw(st.integers(1, 2))
    if draw(st.integers(0, 3)) == 0:
        made["on_failure"] = [draw(leaf(in_item))]
    return made


def numbered(steps: list[Step], width: int) -> list[Step]:
    """With ids, and so many items at once."""
    return _Numbers(width).many(steps)


class _Numbers:
    def __init__(self, width: int) -> None:
        self._count = iter(range(10_000))
        self._width = width

    def many(self, steps: list[Step]) -> list[Step]:
        made: list[Step] = []
        for each in steps:
            made.append(self._one(each, made[-1]["id"] if made else None))
        return made

    def _one(self, given: Step, before: str | None) -> Step:
        if given["type"] == "fan-in" and before is None:  # there is nothing to wait for
            given = {"type": "do"}
        made = {**given, "id": f"s{next(self._count)}"}
        if made["type"] == "fan-out":
            made["max_concurrency"] = self._width
            made["step"] = self._one(given["step"], None)
        for name in ("then", "else", "steps", "default", "on_failure"):
            if name in made:
                made[name] = self.many(given[name])
        if "cases" in made:
            made["cases"] = {name: self.many(each) for name, each in given["cases"].items()}
        child = made["steps"][0]["id"] if "steps" in made else ""
        for name in ("condition", "wait_for"):
            if name in made:
                text = json.dumps(made[name])
                text = text.replace(BEFORE, before or made["id"]).replace(CHILD, child)
                made[name] = json.loads(text)
        return made


def tidying(steps: Any) -> set[str]:
    """The ids of the steps that a failure of others makes run."""
    if isinstance(steps, list):
        return {each for inner in steps for each in tidying(inner)}
    if not isinstance(steps, dict):
        return set()
    own = {each["id"] for each in steps.get("on_failure", ())}
    return own.union(*(tidying(inner) for inner in steps.values()))


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


def lines_of(steps: list[Step]) -> str:
    return "\n".join(f"- {json.dumps(each)}" for each in steps)


async def outcome(steps: list[Step], width: int) -> tuple[Any, World]:
    world = World(Path("/"))
    return told(await world.run(lines_of(numbered(steps, width)))), world


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
        made = numbered(steps, width)
        lines, tidy = lines_of(made), tidying(made)
        world = World(Path("/"))
        first = await world.run(lines)
        world.ran = []
        second = await world.resume(lines)
        assert told(second) == told(first)
        failed = {path for path, state in first.states.items() if state["status"] == "failed"}
        if first.status == "completed":
            assert world.ran == []
        elif width == 1:
            assert {path for path in world.ran if not tidy & {*path.split(":")}} <= failed

    run_virtual(twice())


class Flaky(World):
    """Its steps fail the first `fail` times that they are performed at a path."""

    def __init__(self) -> None:
        super().__init__(Path("/"))
        self._times: Counter[str] = Counter()

    async def do(self, fields: Mapping[str, Any], place: Place) -> dict[str, Any]:
        self._times[place.path] += 1
        fails = self._times[place.path] <= int(fields.get("fail") or 0)
        return await super().do({**fields, "fail": fails}, place)


def flaky(steps: Any) -> Any:
    """The same steps; what would always fail fails once or twice."""
    if isinstance(steps, list):
        return [flaky(each) for each in steps]
    if not isinstance(steps, dict):
        return steps
    made = {name: flaky(value) for name, value in steps.items()}
    if made.get("type") == "do" and made.get("fail"):
        made["fail"] = 1 + len(json.dumps(steps)) % 2
    return made


BACKING_OFF: Step = {
    "type": "do-while",
    "condition": False,
    "steps": [
        {
            "type": "fan-out",
            "items": [0, 1, 2],
            "halt": "failure",
            "step": {
                "type": "do",
                "sleep": ITEM,
                "fail": "{{ item > 0 }}",
                "continue_on_error": True,
                "retry": 2,
            },
        },
        {"type": "do", "fail": True},
    ],
}
"""While an item backs off its permit is free, so that others begin: how long it does must not be
left to chance where the order of all that ran is compared."""


@settings(max_examples=150, deadline=None)
@example([BACKING_OFF], 1)
@given(st.lists(step(3, False), min_size=1, max_size=3), st.integers(1, 3))
def test_attempts_at_a_whole_come_to_what_resumes_come_to(steps: list[Step], times: int) -> None:
    whole: Step = {"type": "if", "condition": True, "then": flaky(steps), "else": []}

    async def both() -> None:
        [plain] = numbered([whole], 1)
        retried, resumed = Flaky(), Flaky()
        one = await retried.run(lines_of([{**plain, "retry": times}]))
        other = await resumed.run(lines_of([plain]))
        for _ in range(times):
            if other.status == "completed":
                break
            other = await resumed.resume(lines_of([plain]))
        assert told(one) == told(other)
        assert retried.ran == resumed.ran
        if one.status == "completed":
            retried.ran = []
            again = await retried.resume(lines_of([{**plain, "retry": times}]))
            assert (told(again), retried.ran) == (told(one), [])

    with pytest.MonkeyPatch.context() as chance:
        chance.setattr("fanwise.kernel.engine.random", lambda: 0.5)
        run_virtual(both())
