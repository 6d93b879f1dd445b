"""`fanwise graph`: of a file and of a run; ten workflows in a real browser."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from fanwise.view.flow_chart import FlowNode
from fanwise.workflow import run_workflow_sync
from tests.cli.support import Place
from tests.marks import slow

from .compat_case import all_cases

FILE = """
workflow: {id: g, name: G}
steps:
  - {id: list, type: shell, run: "echo '[1, 2, 3]'", output_format: json}
  - id: each
    type: fan-out
    items: "{{ steps.list.output.data }}"
    max_concurrency: 2
    continue_on_error: true
    step:
      id: one
      type: if
      condition: "{{ item == 2 }}"
      then:
        - {id: two, type: shell, run: "exit 1", on_failure: [{id: cry, type: shell, run: "true"}]}
      else: [{id: other, type: shell, run: "true"}]
  - id: loop
    type: while
    condition: "{{ not (steps.turn.output.stdout | default('') | contains('xx')) }}"
    steps: [{id: turn, type: shell, run: "printf x >> turns; cat turns"}]
  - {id: sub, type: workflow, workflow: sub.yaml}
  - {id: ok, type: gate, message: "Well?"}
  - {id: last, type: shell, run: "true"}
on_end: [{id: bye, type: shell, run: "true"}]
"""
SUB = "workflow: {id: s, name: S}\nsteps: [{id: inner, type: shell, run: 'true'}]\n"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    (tmp_path / "g.yaml").write_text(FILE)
    (tmp_path / "sub.yaml").write_text(SUB)
    return made


def drawn(place: Place, *args: str) -> dict[str, FlowNode]:
    """All steps by title, also those inside others."""
    answered = place.run("graph", *args, "--json")
    assert answered.returncode == 0, answered.stderr.decode()
    found: dict[str, Any] = {}

    def add(nodes: list[dict[str, Any]]) -> None:
        for node in nodes:
            found[node["title"]] = node
            add(node["frame"] or [])
            for branch in node["branches"]:
                add(branch["nodes"])

    add(json.loads(answered.stdout)["steps"])
    return found


def test_a_file_has_its_branches_loops_fan_outs_and_gates(place: Place) -> None:
    found: Any = drawn(place, "g.yaml")
    assert [*found] == [
        "list", "each", "one", "two", "cry", "other", "loop", "turn", "sub", "inner", "ok", "last",
        "on_end", "bye",
    ]  # fmt: skip
    assert found["each"]["lines"] == ["each of {{ steps.list.output.data }}", "at most 2 at once"]
    assert found["each"]["stacked"] is True
    assert [each["label"] for each in found["one"]["branches"]] == ["then", "else"]
    assert [each["label"] for each in found["two"]["branches"]] == ["", "on failure"]
    assert found["loop"]["lines"][-1] == "at most 10 times"
    assert found["ok"]["lines"] == ["Well?"]
    assert {each["state"] for each in found.values()} == {""}


def test_a_run_has_states_and_counts_of_items_and_iterations(place: Place) -> None:
    assert place.run("run", "g.yaml", "--run", "r").returncode == 3
    (place.path / "g.yaml").unlink()  # it has its own copy
    found: Any = drawn(place, "--run", "r")
    states = {title: node["state"] for title, node in found.items()}
    assert states == {
        "list": "completed", "each": "failed", "one": "failed", "two": "failed",
        "cry": "completed", "other": "completed", "loop": "completed", "turn": "completed",
        "sub": "completed", "inner": "completed", "ok": "paused", "last": "pending", "on_end": "",
        "bye": "pending",
    }  # fmt: skip
    assert found["one"]["lines"][-1].startswith("2 completed, 1 failed, median ")
    assert found["turn"]["lines"][-1].startswith("2 completed, median ")
    assert found["inner"]["lines"][-1].startswith("completed, ")
    assert found["last"]["lines"] == ["true", "pending"], "no time for what has not run"


EVERY = """
workflow: {id: e, name: E}
steps:
  - id: s
    type: switch
    expression: "{{ 'x' }}"
    cases: {x: [{id: in-x, type: shell, run: "true"}], y: []}
    default: [{id: in-d, type: shell, run: "true"}]
    on_failure: [{id: f, type: shell, run: "true"}]
  - {id: m, type: map, items: [1, 2], command: [echo, hi]}
  - {id: l, type: map, lines: "a b", command: [echo], max_concurrency: 3}
  - id: t
    type: shell
    run: "exit 1"
    continue_on_error: true
    on_failure: [{id: g, type: shell, run: "true"}]
  - id: w
    type: while
    condition: "{{ false }}"
    max_iterations: 4
    steps: [{id: never, type: shell, run: "true"}]
  - {id: q, type: shell, run: "\\n  echo first\\n  echo second\\n", if: "{{ true }}"}
  - {id: j, type: fan-in, wait_for: [m, t]}
  - {id: d, type: workflow, workflow: deep/one.yaml}
"""


def test_every_kind_of_step_says_what_it_does(place: Place) -> None:
    (place.path / "deep").mkdir()
    included = SUB.replace("type: shell, run: 'true'", "type: workflow, workflow: two.yaml")
    (place.path / "deep" / "one.yaml").write_text(included)
    (place.path / "deep" / "two.yaml").write_text(SUB.replace("inner", "bottom"))
    (place.path / "e.yaml").write_text(EVERY)
    found: Any = drawn(place, "e.yaml")
    assert [*found][-3:] == ["d", "inner", "bottom"], "each file is relative to the one before"
    lines = {title: found[title]["lines"] for title in "mlwqj"}
    assert lines == {
        "m": ["2 items", "at most 10 at once", "echo hi"],
        "l": ["each of a b", "at most 3 at once", "echo"],
        "w": ["while {{ false }}", "at most 4 times"],
        "q": ["if {{ true }}", "echo first"],
        "j": ["of m, t"],
    }
    assert {title for title, node in found.items() if node["stacked"]} == {"m", "l"}
    branches = {
        title: [(each["label"], each["dashed"], each["ends"]) for each in found[title]["branches"]]
        for title in "st"
    }
    assert branches == {
        "s": [("x", False, False), ("y", False, False), ("default", False, False),
              ("on failure", True, True)],
        "t": [("", False, False), ("on failure", True, False)],
    }  # fmt: skip
    assert place.run("run", "e.yaml", "--run", "e").returncode == 0
    ran: Any = drawn(place, "--run", "e")["m"]
    assert ran["lines"][-2].startswith("completed, ")
    assert ran["lines"][-1].startswith("2 completed, median ")


def test_each_format_is_printed_or_written(place: Place) -> None:
    printed = place.run("graph", "g.yaml").stdout
    assert printed.startswith(b"<svg xmlns=")
    assert place.run("graph", "g.yaml", "-o", "g.svg").returncode == 0
    assert (place.path / "g.svg").read_bytes() == printed
    assert place.run("graph", "g.yaml", "--format", "mermaid").stdout.startswith(b"flowchart TD")
    assert place.run("graph", "g.yaml", "--format", "dot").stdout.startswith(b"digraph")


def test_what_cannot_be_drawn_is_said(place: Place) -> None:
    both = place.run("graph", "g.yaml", "--run", "r")
    assert (both.returncode, b"give a file, or a run" in both.stderr) == (2, True)
    (place.path / "bad.yaml").write_text(FILE.replace("type: gate", "type: gaet"))
    bad = place.run("graph", "bad.yaml")
    assert (bad.returncode, b"did you mean `gate`" in bad.stderr) == (2, True)
    (place.path / "m.yaml").write_text("map: {command: [echo], input: x}\n")
    other = place.run("graph", "m.yaml")
    assert (other.returncode, b"`map` has no steps" in other.stderr) == (2, True)


NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("FANWISE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll("text")].map((each) => each.getBoundingClientRect());
  const found = [];
  boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b, j) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 1 && high > 3) found.push([i, i + 1 + j, wide, high]);
  }));
  const page = document.querySelector("svg").getBoundingClientRect();
  const cut = boxes.filter((a) => a.left < page.left || a.right > page.right
    || a.top < page.top || a.bottom > page.bottom);
  return [boxes.length, found, cut.length];
}"""
"""How many texts there are, those that overlap (lines of text stand close), and those cut off."""


@slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_ten_workflows_in_a_real_browser(place: Place) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    longest = sorted((case.workflow for case in all_cases()), key=len, reverse=True)
    wide = FILE.replace("'[1, 2, 3]'", f"'{[*range(300)]}'")
    pictures: list[bytes] = []
    for text in [FILE, wide, *longest]:
        (place.path / "w.yaml").write_text(text)
        printed = place.run("graph", "w.yaml")
        pictures += [printed.stdout] if printed.returncode == 0 else []
        if len(pictures) == 10:
            break
    (place.path / "w.yaml").write_text(wide)
    run_workflow_sync(place.path / "w.yaml", run="w", project=place.path, journal=place.path / "j")
    pictures.append(place.run("graph", "--run", "w", "--journal", "j").stdout)
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        for number, picture in enumerate(pictures):
            (place.path / f"{number}.html").write_bytes(b"<!doctype html>" + picture)
            page.goto((place.path / f"{number}.html").as_uri())
            count, overlaps, cut = page.evaluate(OVERLAPS)
            assert count > 3
            assert (overlaps, cut) == ([], 0), number
        assert page.evaluate("document.querySelectorAll('rect').length") < 40, "not one for an item"
        browser.close()
