"""Overlays: how the steps of an installed workflow come together, as spec-kit puts them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fanwise.errors import BadSpec
from fanwise.specs import read
from fanwise.workflow.spec.overlays import with_overlays
from tests.cli.support import Place

BASE = """
workflow: {id: flow, name: Flow}
steps:
  - {id: a, type: shell, run: "echo a >> ran"}
  - id: choice
    type: if
    condition: true
    then: [{id: b, type: shell, run: "echo b >> ran"}]
  - {id: gap, type: slot, name: after the choice}
  - id: each
    type: fan-out
    items: [1]
    step: {id: t, type: shell, run: "echo t >> ran"}
"""


class Project:
    def __init__(self, folder: Path) -> None:
        self.file = folder / ".specify" / "workflows" / "flow" / "workflow.yml"
        self._overlays = folder / ".specify" / "workflows" / "overlays" / "flow"
        for each in (self.file.parent, self._overlays):
            each.mkdir(parents=True)
        self.file.write_text(BASE)

    def overlay(self, name: str, *edits: dict[str, Any], **fields: Any) -> Project:
        data = {"id": name, "extends": "flow", "edits": list(edits), **fields}
        (self._overlays / f"{name}.yml").write_text(json.dumps(data))
        return self

    def ids(self) -> list[str]:
        found: list[str] = []

        def add(steps: list[dict[str, Any]]) -> None:
            for step in steps:
                found.append(step["id"])
                add(step.get("then", []))

        add(with_overlays(read(self.file)).data["steps"])
        return found

    def refused(self, *edits: dict[str, Any], **fields: Any) -> str:
        with pytest.raises(BadSpec) as caught:
            self.overlay("bad", *edits, **fields).ids()
        return str(caught.value)


def step(name: str) -> dict[str, Any]:
    return {"id": name, "type": "shell", "run": f"echo {name} >> ran"}


def edit(operation: str, anchor: str, name: str = "") -> dict[str, Any]:
    return {operation: anchor, **({"step": step(name)} if name else {})}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_without_overlays_a_file_is_what_it_is(project: Project) -> None:
    assert project.ids() == ["a", "choice", "b", "gap", "each"]


@pytest.mark.parametrize(
    ("edits", "ids"),
    [
        ([edit("insert_before", "a", "x")], "x a choice b gap each"),
        (
            [edit("insert_after", "b", "x"), edit("insert_after", "b", "y")],
            "a choice b x y gap each",
        ),
        ([edit("replace", "gap", "x")], "a choice b x each"),
        ([edit("remove", "choice")], "a gap each"),
        ([{"operation": "replace", "anchor": "a", "step": step("x")}], "x choice b gap each"),
        ([edit("replace", "a", "x"), edit("insert_after", "a", "y")], "x y choice b gap each"),
        ([edit("remove", "a"), edit("insert_after", "a", "y")], "a y choice b gap each"),
    ],
)
def test_one_overlay(project: Project, edits: list[dict[str, Any]], ids: str) -> None:
    assert project.overlay("one", *edits).ids() == ids.split()


@pytest.mark.parametrize(
    ("first", "second", "ids"),
    [
        # The lower number counts, and stands next to the step.
        ((5, edit("replace", "a", "x")), (9, edit("replace", "a", "y")), "x choice b gap each"),
        ((9, edit("replace", "a", "x")), (5, edit("replace", "a", "y")), "y choice b gap each"),
        ((5, edit("insert_after", "a", "x")), (9, edit("insert_after", "a", "y")), "a x y choice b gap each"),  # noqa: E501
        ((5, edit("insert_before", "a", "x")), (9, edit("insert_before", "a", "y")), "y x a choice b gap each"),  # noqa: E501
        ((9, edit("remove", "a")), (5, edit("insert_after", "a", "y")), "a y choice b gap each"),
        ((5, edit("remove", "a")), (9, edit("insert_after", "a", "y")), "choice b gap each"),
        # Of equals, the one whose id comes last; what is no priority is 10.
        ((0, edit("replace", "a", "x")), ("?", edit("replace", "a", "y")), "y choice b gap each"),
    ],
)  # fmt: skip
def test_two_overlays(project: Project, first: Any, second: Any, ids: str) -> None:
    for name, (priority, one) in (("m", first), ("n", second)):
        project.overlay(name, one, priority=priority)
    assert project.ids() == ids.split()


def test_what_is_wrong_with_an_overlay_is_said(project: Project) -> None:
    assert "there is no step 'aa'" in project.refused(edit("remove", "aa"))
    assert "there is no step 't'" in project.refused(edit("remove", "t")), "it is a template"
    assert "one operation" in project.refused({"remove": "a", "replace": "a", "step": step("x")})
    assert "`remove` has no `step`" in project.refused(edit("remove", "a", "x"))
    assert "is in the folder of 'flow'" in project.refused(edit("remove", "a"), extends="other")
    told = project.refused(edit("remove", "choice"), edit("replace", "b", "x"))
    assert "edits 'b', in 'choice', which another edit removes" in told
    assert project.overlay("bad", edit("remove", "nobody"), enabled=False).ids()[0] == "a"


def test_it_runs_with_its_overlays_and_a_resume_keeps_them(tmp_path: Path) -> None:
    project, place = Project(tmp_path), Place(tmp_path)
    failing = {"id": "x", "type": "shell", "run": "echo x >> ran; test -e ready"}
    project.overlay("fill", {"replace": "gap", "step": failing})
    file = str(project.file.relative_to(tmp_path))
    assert place.run("run", file, "--run", "r").returncode == 1
    assert place.lines("ran") == ["a", "b", "x"]
    (tmp_path / "ready").touch()
    project.overlay("fill", edit("remove", "gap"))
    assert place.run("resume", "r").returncode == 0
    assert place.lines("ran") == ["a", "b", "x", "x", "t"]


def test_a_slot_that_nobody_fills_is_skipped(tmp_path: Path) -> None:
    project, place = Project(tmp_path), Place(tmp_path)
    ended = place.run("run", str(project.file), "--json")
    state = json.loads(ended.stdout)["result"]["steps"]["gap"]
    assert (state["status"], state["output"]) == ("skipped", {"slot": "after the choice"})
    project.file.write_text(
        BASE.replace('type: shell, run: "echo t >> ran"', "type: slot, name: x")
    )
    bad = place.run("check", str(project.file))
    assert (bad.returncode, b"cannot fill it in a fan-out" in bad.stderr) == (2, True)


def test_an_overlay_that_was_edited_since_is_said_and_not_used(tmp_path: Path) -> None:
    edit = {"insert_after": "a", "step": {"id": "stop", "type": "gate", "message": "Well?"}}
    project = Project(tmp_path).overlay("more", edit)
    place, file = Place(tmp_path), str(project.file.relative_to(tmp_path))
    assert place.run("run", file, "--run", "r").returncode == 3
    same = place.run("resume", "r", "--json")
    assert (same.returncode, b"has changed" in same.stdout + same.stderr) == (3, False)
    project.overlay("more", {"insert_after": "a", "step": {"id": "x", "type": "slot", "name": "n"}})
    changed = place.run("resume", "r", "--answer", "stop=approve", "--json")
    assert changed.returncode == 0, changed.stderr
    assert b"overlays/flow/more.yml has changed since the run began" in changed.stdout
    assert "stop" in json.loads(changed.stdout)["result"]["steps"]
