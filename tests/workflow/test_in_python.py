"""Workflows written in Python: the same as their files; and what happens in them, as events."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise import fan_out, open_run, run_workflow, run_workflow_sync
from fanwise.errors import BadSpec
from fanwise.specs import parse
from fanwise.workflow import StepChanged, StepState, Workflow, step

from .compat_case import all_cases

WORDS = Workflow(
    "words",
    inputs={"words": {"type": "list", "default": ["a", "b"]}},
    steps=[
        step("none", "shell", run="echo never", if_=False),
        step(
            "each",
            "fan-out",
            items="{{ inputs.words }}",
            max_concurrency=2,
            step=step("say", "shell", run="printf %s {{ item }}"),
        ),
        step("end", "if", condition=True, then=[step("last", "shell", run="exit 3")]),
    ],
    on_end=[step("bye", "shell", run="echo {{ context.status }}")],
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_workflow_is_the_same_as_its_file(here: Path) -> None:
    WORDS.write("words.yaml")
    again = Workflow.read("words.yaml")
    assert again == WORDS
    assert again.to_yaml() == WORDS.to_yaml()
    results = [run_workflow_sync(each) for each in (WORDS, again, "words.yaml")]
    assert [each.steps for each in results] == [results[0].steps] * 3
    assert results[0].steps["bye"].output["stdout"] == "failed\n"


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")))
TRICKY = st.sampled_from(
    [
        "yes",
        "012",
        "1e3",
        "~",
        "null",
        "0x1f",
        "1_000",
        "2001-01-01",
        "- a",
        ".inf",
        "a\nb",
        "=",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS | TRICKY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TRICKY | TEXTS, inner, max_size=3),
)


@given(VALUES)
def test_whatever_stands_in_it_is_read_as_it_was_written(value: Any) -> None:
    made = Workflow(steps=[step("a", "shell", run="true")], header={"options": {"x": value}})
    assert parse(made.to_yaml().encode(), "w.yaml", Path("/")).data == made.data


def test_every_file_of_the_suite_that_can_be_read_is_written_and_read(here: Path) -> None:
    count = 0
    for case in all_cases():
        try:
            (here / "w.yaml").write_text(case.workflow)
            found = Workflow.read("w.yaml", lenient=True)
        except BadSpec:
            continue
        assert parse(found.to_yaml().encode(), "w.yaml", here).data == found.data
        count += 1
    assert count > 100


def test_what_is_wrong_is_said_when_it_is_made() -> None:
    with pytest.raises(BadSpec, match="did you mean `shell`"):
        Workflow(steps=[step("a", "shel", run="x")])


def test_a_subscriber_is_told_when_a_step_begins_and_ends(here: Path) -> None:
    found: list[StepState] = []

    def hear(event: object) -> None:
        if isinstance(event, StepChanged):
            found.append(event.step)

    run_workflow_sync(WORDS, subscribers=[hear])
    told = [(each.path, each.status) for each in found]
    assert told[:2] == [("none", "skipped"), ("each", "running")]
    assert sorted(told[2:6]) == [
        (f"each:say:{n}", status) for n in range(2) for status in ("completed", "running")
    ]
    assert told[6:] == [
        ("each", "completed"),
        ("end", "running"),
        ("last", "running"),
        ("last", "failed"),
        ("end", "failed"),
        ("bye", "running"),
        ("bye", "completed"),
    ]
    said = {each.path: each.output for each in found if each.status == "completed"}
    assert said["each:say:1"]["stdout"] == "b"
    assert {each.path: each.inside for each in found}["each:say:1"] == "each"


def test_inside_an_item_the_run_s_own_subscribers_are_told(here: Path) -> None:
    found: list[str] = []

    def hear(event: object) -> None:
        if isinstance(event, StepChanged) and event.step.status == "completed":
            found.append(event.step.output["stdout"])

    async def one(word: str) -> None:
        say = Workflow(
            steps=[step("say", "shell", run="printf %s {{ inputs.w }}")], inputs={"w": {}}
        )
        await run_workflow(say, {"w": word})

    async def main() -> None:
        async with open_run("all", subscribers=[hear]) as run:
            await fan_out(one, ["x", "y"], run=run, name="each")

    asyncio.run(main())
    assert sorted(found) == ["x", "y"]


@pytest.mark.parametrize("where", ["steps", "on_end"])
def test_a_key_that_files_cannot_have_is_refused_when_it_is_written(where: str) -> None:
    plain = step("a", "shell", run="true")
    merged = step("b", "shell", run="true", env={"<<": "x"})
    parts: dict[str, Any] = {"steps": [plain], "on_end": [], where: [merged]}
    with pytest.raises(BadSpec, match="write the keys out"):
        Workflow(**parts)
