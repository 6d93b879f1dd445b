"""For any workflow: what comes of it at any max_concurrency is what comes of it at 1; a resume
repeats nothing that was final; and attempts at a whole come to what resumes come to.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fanwise.testing import run_virtual
from fanwise.workflow.steps.gate import Ask
from fanwise.workflow.steps.port import StepPlace
from fanwise.workflow.views.text import Ending
from tests.profiles import examples

from .running import World

Step = dict[str, Any]
ITEM = "{{ item }}"
BEFORE, CHILD = "<before>", "<child>"
"""Stand for the ids of the step before, and of the first step inside."""
FILE = "steps of the file"
"""The field with the steps of a `workflow` step, until they are a file."""
INPUTS = {
    "n": {"type": "number", "default": 1},
    "yes": {"type": "string", "default": "approve"},
    "no": {"type": "string", "default": "reject"},
    "none": {"type": "string", "default": ""},
}
"""Of each file."""
HEADER = {"schema_version": "1.0", "workflow": {"id": "sub", "name": "Sub", "version": "1.0.0"}}


class At(NamedTuple):
    """Where a step is drawn, and what may be."""

    in_item: bool = False
    tries: bool = True
    """Whether it may depend on how often a step was tried: not where attempts at a whole find
    what others, in flight behind a halt, had tried already."""
    answers: bool = True
    """Whether gates may be rejected: on a resume some ask anew."""
    limits: bool = True
    """Whether wholes may have time-outs: on a resume what was cut short is begun anew."""

    @property
    def in_file(self) -> At:
        return self._replace(in_item=False)


@st.composite
def leaf(draw: st.DrawFn, at: At) -> Step:
    step: Step = {"type": "do", "sleep": draw(st.integers(0, 5)), "give": draw(st.integers(0, 3))}
    if at.in_item:
        step["give"] = ITEM
        step["sleep"] = draw(st.sampled_from([1, "{{ 5 - item }}", ITEM]))
        step["fail"] = draw(st.sampled_from([False, "{{ item == 1 }}", "{{ item == 2 }}"]))
    else:
        step["fail"] = draw(st.sampled_from([False, False, "{{ inputs.n == 2 }}", True]))
    if draw(st.integers(0, 2)) == 0:
        step |= {"type": "chance", "seed": draw(st.integers(0, 9)), "tries": False}
        step["tries"] = at.tries and draw(st.booleans())
    if draw(st.integers(0, 3)) == 0:
        step["timeout"] = draw(st.sampled_from([1.1, 3.1]))
    return step


@st.composite
def gate(draw: st.DrawFn, at: At) -> Step:
    message = f"{draw(st.integers(0, 3))} {ITEM if at.in_item else ''}"
    made: Step = {"type": "gate", "message": message}
    made["on_reject"] = draw(st.sampled_from(["skip", "abort", "retry"]))
    if not at.in_item:  # an input cannot answer for each item
        words = ["yes", "yes", "yes", "none", *["no"] * at.answers]
        made["verdict_input"] = draw(st.sampled_from(words))
    return made


@st.composite
def condition(draw: st.DrawFn, at: At) -> Any:
    seen = [f"{{{{ steps.{BEFORE}.status == 'failed' }}}}", f"{{{{ steps.{BEFORE}.output.gave }}}}"]
    return draw(
        st.sampled_from([True, False, *seen, *(["{{ item > 1 }}", "{{ item == 0 }}"] * at.in_item)])
    )


@st.composite
def until(draw: st.DrawFn, at: At) -> Any:
    seen = [f"{{{{ steps.{CHILD}.status != '{word}' }}}}" for word in ("failed", "completed")]
    return draw(st.one_of(st.sampled_from(seen), condition(at)))


KINDS = [
    "do", "if", "switch", "while", "do-while", "fan-in", "fan-out", "fan-out", "workflow", "gate",
]  # fmt: skip


@st.composite
def step(draw: st.DrawFn, depth: int, at: At) -> Step:
    kind = draw(st.sampled_from(KINDS if depth else [*["do"] * 5, "gate"]))
    retry = draw(st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2]))
    below = at._replace(tries=at.tries and not retry)
    made = draw(holding(kind, depth - 1, below)) if depth else None
    if made is None:
        made = draw(gate(at) if kind == "gate" else leaf(at))
    elif at.limits and "fan-out" not in json.dumps(made) and draw(st.integers(0, 3)) == 0:
        # What fans out takes longer with fewer at once.
        made["timeout"] = draw(st.sampled_from([2.1, 6.1]))
    made["continue_on_error"] = draw(st.sampled_from([False, False, True]))
    if retry:
        made["retry"] = retry
    if draw(st.integers(0, 3)) == 0:
        made["on_failure"] = [draw(leaf(at))]
    return made


@st.composite
def holding(draw: st.DrawFn, kind: str, depth: int, at: At) -> Step | None:
    """A step of this kind with others inside it; None: that has none."""
    inside = st.lists(step(depth, at), min_size=1, max_size=2)
    match kind:
        case "if":
            made = {"type": kind, "condition": draw(condition(at)), "then": draw(inside)}
            return {**made, "else": draw(inside)}
        case "switch":
            value = ITEM if at.in_item else draw(st.sampled_from(["0", "7"]))
            made = {"type": kind, "expression": value, "cases": {"0": draw(inside)}}
            return {**made, "default": draw(inside)}
        case "while" | "do-while":
            made = {"type": kind, "condition": draw(until(at)), "steps": draw(inside)}
            return {**made, "max_iterations": draw(st.integers(1, 3))}
        case "fan-in":
            return {"type": kind, "wait_for": [BEFORE], "output": {"last": "{{ fan_in.results }}"}}
        case "workflow":
            given = ITEM if at.in_item else draw(st.integers(1, 2))
            steps = draw(st.lists(step(depth, at.in_file), min_size=1, max_size=2))
            return {"type": kind, "input": {"n": given}, FILE: steps}
        case "fan-out":
            items = [*range(draw(st.sampled_from([0, 1, 3, 4, 5])))]
            template = draw(step(depth, at._replace(in_item=True)))
            halt = draw(st.sampled_from(["failure", "never"]))
            return {"type": kind, "items": items, "step": template, "halt": halt}
    return None


def steps_at(at: At) -> st.SearchStrategy[list[Step]]:
    return st.lists(step(3, at), min_size=1, max_size=3)


class Made(NamedTuple):
    """Steps with ids, and so many items at once; and the files that they include, by name."""

    steps: list[Step]
    files: dict[str, list[Step]]

    @property
    def lines(self) -> str:
        return "\n".join(f"- {json.dumps(each)}" for each in self.steps)

    def texts(self) -> dict[str, str]:
        header = {**HEADER, "inputs": INPUTS}
        return {name: json.dumps({**header, "steps": each}) for name, each in self.files.items()}


def numbered(steps: list[Step], width: int) -> Made:
    numbers = _Numbers(width)
    return Made(numbers.many(steps), numbers.files)


class _Numbers:
    def __init__(self, width: int) -> None:
        self.files: dict[str, list[Step]] = {}
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
        if FILE in made:
            made["workflow"] = f"{made['id']}.yaml"
            self.files[made["workflow"]] = self.many(made.pop(FILE))
        child = made["steps"][0]["id"] if "steps" in made else ""
        for name in ("condition", "wait_for"):
            if name in made:
                text = json.dumps(made[name])
                text = text.replace(BEFORE, before or made["id"]).replace(CHILD, child)
                made[name] = json.loads(text)
        return made


class Chances(World):
    """A world with steps of type `chance`: whether they succeed is drawn by a seed."""

    def __init__(self, made: Made) -> None:
        super().__init__(Path("/"), chance=self.chance)
        self.made = made
        self.files = made.texts()
        self._times: Counter[str] = Counter()

    async def chance(self, fields: Mapping[str, Any], place: StepPlace) -> dict[str, Any]:
        """By where it stands, and, if `tries` says so, by how often it was tried there."""
        self._times[place.path] += 1
        tried = self._times[place.path] if fields.get("tries") else 0
        drawn = zlib.crc32(f"{fields['seed']} {place.path} {tried}".encode())
        return await self.do({**fields, "fail": drawn % 3 == 0}, place)

    async def first(self) -> Ending:
        return await self.run(self.made.lines, f"inputs: {json.dumps(INPUTS)}\n")

    async def again(self) -> Ending:
        return await self.resume(self.made.lines, f"inputs: {json.dumps(INPUTS)}\n")


def answered(message: str, shown: str | None, options: list[str]) -> str | None:
    """By somebody at the terminal: one of the options, or they went away."""
    return [*options, None][zlib.crc32(message.encode()) % 3]


@pytest.fixture(autouse=True, scope="module")
def chance_held_still() -> Iterator[None]:
    """How long a step backs off is drawn by lot, and what begins meanwhile depends on it."""
    with pytest.MonkeyPatch.context() as chance:
        chance.setattr("fanwise.kernel.attempts.random", lambda: 0.5)
        yield


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


async def outcome(steps: list[Step], width: int, ask: Ask | None) -> Any:
    world = Chances(numbered(steps, width))
    world.ask = ask
    return told(await world.first())


@examples(1)
@given(steps_at(At()), st.integers(2, 6), st.sampled_from([None, answered]))
def test_any_width_comes_to_what_one_at_a_time_comes_to(
    steps: list[Step], width: int, ask: Ask | None
) -> None:
    one = run_virtual(outcome(steps, 1, ask))
    many = run_virtual(outcome(steps, width, ask))
    assert many == one


@examples(0.5)
@given(steps_at(At(tries=False, answers=False, limits=False)), st.integers(1, 4))
def test_a_resume_comes_to_the_same_and_runs_only_what_ended_it(
    steps: list[Step], width: int
) -> None:
    async def twice() -> None:
        made = numbered(steps, width)
        tidy = tidying([made.steps, [*made.files.values()]])
        world = Chances(made)
        first = await world.first()
        world.ran = []
        second = await world.again()
        assert told(second) == told(first)
        failed = {path for path, state in first.states.items() if state["status"] == "failed"}
        if first.status == "completed":
            assert world.ran == []
        elif width == 1:
            assert {path for path in world.ran if not tidy & {*path.split(":")}} <= failed

    run_virtual(twice())


@examples(0.5)
@given(steps_at(At(tries=False, answers=False)), st.integers(1, 4), st.sampled_from([2.1, 6.1]))
def test_a_resume_of_a_completed_run_begins_nothing_that_was_cut_short(
    steps: list[Step], width: int, limit: float
) -> None:
    """A time-out that ended the run is another matter: there the steps have their time anew."""
    whole: Step = {"type": "if", "condition": True, "then": steps, "else": [], "timeout": limit}

    async def twice() -> None:
        world = Chances(numbered([{**whole, "continue_on_error": True}], width))
        first = await world.first()
        world.ran = []
        if first.status == "completed":
            assert (told(await world.again()), world.ran) == (told(first), [])

    run_virtual(twice())


class Flaky(Chances):
    """Its steps fail the first `fail` times that they are performed at a path."""

    async def do(self, fields: Mapping[str, Any], place: StepPlace) -> dict[str, Any]:
        if "seed" not in fields:
            self._times[place.path] += 1
            fails = self._times[place.path] <= int(fields.get("fail") or 0)
            fields = {**fields, "fail": fails}
        return await super().do(fields, place)


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


@examples(1)
@example([BACKING_OFF], 1)
@given(steps_at(At(limits=False)), st.integers(1, 3))
def test_attempts_at_a_whole_come_to_what_resumes_come_to(steps: list[Step], times: int) -> None:
    whole: Step = {"type": "if", "condition": True, "then": flaky(steps), "else": []}

    async def both() -> None:
        plain = numbered([whole], 1)
        retried = Flaky(plain._replace(steps=[{**plain.steps[0], "retry": times}]))
        resumed = Flaky(plain)
        one, other = await retried.first(), await resumed.first()
        for _ in range(times):
            if other.status != "failed":
                break
            other = await resumed.again()
        assert told(one) == told(other)
        assert retried.ran == resumed.ran
        if one.status == "completed":
            retried.ran = []
            again = await retried.again()
            assert (told(again), retried.ran) == (told(one), [])

    run_virtual(both())
