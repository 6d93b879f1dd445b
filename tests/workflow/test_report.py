"""`fanwise report` of a workflow: everything is in it, and nothing that others wrote runs."""

from __future__ import annotations

import getpass
import html
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from fanwise.journal.open import open_journal
from fanwise.view.formats import duration_text
from fanwise.workflow.views.page import MOST_ITEMS, report
from tests.cli.support import Place
from tests.marks import slow

FILE = """
workflow: {id: rep, name: Rep}
inputs: {what: {default: "</script><b>bold</b>"}}
steps:
  - {id: say, type: shell, run: "printf %s {{ inputs.what }}; echo log-line >&2"}
  - {id: pick, type: if, condition: true, then: [{id: inner, type: shell, run: "echo deep"}]}
  - id: each
    type: fan-out
    items: [1, 2, 3]
    max_concurrency: 2
    continue_on_error: true
    step:
      id: one
      type: if
      condition: "{{ item == 2 }}"
      then:
        - {id: bad, type: shell, run: "echo item-2; exit 7", on_failure: [{id: cry, type: shell, run: "true"}]}
      else: [{id: fine, type: shell, run: "echo item-{{ item }}"}]
  - {id: m, type: map, items: [a, b], command: [echo]}
  - {id: ok, type: gate, message: "Ship {{ inputs.what }}?"}
  - {id: last, type: shell, run: "exit 3"}
"""  # noqa: E501
LEAVES = (
    "say", "inner", "each:one:1:bad", "each:one:1:cry", "each:one:0:fine", "each:one:2:fine",
    "m:0", "m:1", "ok", "last",
)  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    made = Place(tmp_path_factory.mktemp("report"))
    (made.path / "w.yaml").write_text(FILE)
    assert made.run("run", "w.yaml", "--run", "r").returncode == 3
    assert made.run("resume", "r", "--answer", "ok=approve").returncode == 1
    assert made.run("report", "r").returncode == 0
    return made


def section(place: Place, name: str) -> str:
    page = (place.path / "r.html").read_text()
    return page.partition(f'id="{name}-title"')[2].partition("</section>")[0]


def blocks(text: str) -> dict[str, str]:
    """The texts below their names."""
    return {
        name: html.unescape(inside)
        for name, inside in re.findall(r"<h4>(\w+)</h4><pre[^>]*>(.*?)</pre>", text, re.S)
    }


def test_the_page_has_its_sections_and_runs_nothing(place: Place) -> None:
    page = (place.path / "r.html").read_text()
    for title in ("Graph", "Timeline", "Gates", "Steps", "Fan-outs", "File"):
        assert f">{title}</h2>" in page
    assert "<b>bold" not in page
    graph = section(place, "graph")
    assert 'class="flow-step state-failed"' in graph and "2 completed, 1 failed" in graph
    file = section(place, "file")
    value = "&lt;/script&gt;&lt;b&gt;bold&lt;/b&gt;"
    assert f'<th scope="row">what</th><td><code>{value}</code></td>' in file
    assert "echo item-2; exit 7" in file


def test_the_tiles_count_what_did_something(place: Place) -> None:
    steps = json.loads(place.run("report", "r", "--json").stdout)["steps"]
    page = (place.path / "r.html").read_text()
    found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd><dd class=.small.>(.*?)</dd>", page)
    took = sum(steps[path]["ended"] - steps[path]["began"] for path in LEAVES)
    assert found == [
        ("steps completed", "8 of 10", "2 failed"),
        ("failed", "2", ""),
        ("work of all", duration_text(took), "one after another"),
    ]


def test_a_gate_has_its_question_and_who_answered_when(place: Place) -> None:
    cells = re.findall(r"<td>(.*?)</td>", section(place, "gates"), re.S)
    question, options, answer, by, when = cells
    assert html.unescape(question) == "Ship </script><b>bold</b>?"
    assert (options, answer) == ("approve, reject", "approve")
    assert by == f"{getpass.getuser()}, with fanwise resume"
    assert when.startswith("<time datetime=")


def test_a_step_has_its_input_output_log_and_error(place: Place) -> None:
    _, *parts = section(place, "steps").split('<div id="step-')
    rows = {part.partition('"')[0]: part for part in parts}
    assert [*rows] == ["say", "pick", "inner", "each", "m", "ok", "last"], "items are in tables"
    depths = {path: int(re.findall(r"margin-left: (\d)rem", row)[0]) for path, row in rows.items()}
    assert depths == {**dict.fromkeys(rows, 0), "inner": 1}
    said = blocks(rows["say"])
    assert [*said] == ["input", "output", "stdout", "stderr"]
    assert json.loads(said["input"])["line"][1] == said["stdout"] == "</script><b>bold</b>"
    assert (json.loads(said["output"]), said["stderr"]) == ({"exit_code": 0}, "log-line\n")
    last = blocks(rows["last"])
    assert last["error"] == "the command exited with code 3"
    assert '<span class="said">the command exited with code 3</span>' in rows["last"]
    assert '<span class="said">deep</span>' in rows["inner"]
    assert '<span class="chip bad">failed</span>' in rows["last"]


def test_a_fan_out_is_a_table_with_what_is_inside_each_item(place: Place) -> None:
    each, of_map = section(place, "fan-outs").split('<div class="items"')[1:]
    assert "2 completed, 1 failed" in each and "2 completed" in of_map
    _, first, second, third = each.split("<tr data-status=")
    assert [row[: row.index(">")] for row in (first, second)] == ['"completed"', '"failed"']
    assert blocks(third)["stdout"] == "item-3\n"
    assert 'scope="row">each:one:1</th>' in second
    assert re.findall(r"<h4>(each:[\w:]+)", second) == ["each:one:1:bad", "each:one:1:cry"]
    assert of_map.count("<tr data-status=") == 2


def test_the_timeline_has_a_bar_for_each_step(place: Place) -> None:
    told = section(place, "timeline")
    names = re.findall(r'href="#step-([\w:]+)"', told)
    assert names == ["say", "pick", "inner", "each", "m", "ok", "last"]
    classes = re.findall(r'class="bar (\w+)"', told)
    assert classes == ["ran", "ran", "ran", "wrong", "again", "ran", "wrong"]
    steps = json.loads(place.run("report", "r", "--json").stdout)["steps"]
    first = min(steps[path]["began"] for path in LEAVES)
    total = max(steps[path]["ended"] for path in LEAVES) - first
    bars = re.findall(r'<rect x="([\d.]+)%" y="0" width="([\d.]+)%"[^>]* class="bar', told)
    for name, (x, width) in zip(names, bars, strict=True):
        began, ended = (steps[name][key] - first for key in ("began", "ended"))
        assert float(x) == pytest.approx(100 * max(began, 0) / total, abs=0.5)
        assert float(x) + float(width) == pytest.approx(100 * min(ended / total, 1), abs=0.5)
    assert len(re.findall('class="failure"', told)) == 2


def test_the_same_is_data(place: Place) -> None:
    told = json.loads(place.run("report", "r", "--json").stdout)
    step = told["steps"]["each:one:1:bad"]
    assert (step["status"], step["output"]["stdout"]) == ("failed", "item-2\n")
    assert step["input"]["line"] == ["echo item-2; exit 7"]
    assert step["ended"] > step["began"]
    assert told["steps"]["ok"]["output"]["answered"] == {"by": getpass.getuser(), "how": "answer"}


def test_a_wide_fan_out_says_what_it_leaves_out(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (tmp_path / "w.yaml").write_text(
        "workflow: {id: w, name: W}\nsteps:\n- {id: m, type: fan-out, max_concurrency: 50, "
        f"items: {[*range(MOST_ITEMS + 5)]}, step: {{id: c, type: call, call: 'f:f'}}}}\n"
    )
    (tmp_path / "f.py").write_text("def f():\n    return 1\n")
    assert place.run("run", "w.yaml", "--run", "w").returncode == 0
    journal = open_journal(tmp_path / ".fanwise" / "journal.db")
    try:
        page = report(journal, journal.run("w")).html
    finally:
        journal.close()
    assert page.count("<tr data-status=") == MOST_ITEMS
    assert "5 further items are left out" in page


def test_calls_to_models_cost_and_calls_of_functions_do_not(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (tmp_path / "f.py").write_text("def f():\n    return 1\n")
    (tmp_path / "w.yaml").write_text("""
workflow: {id: w, name: W}
steps:
  - {id: think, type: prompt, prompt: hi, model: "sim:one?median_s=0.001"}
  - {id: count, type: call, call: "f:f"}
  - id: paid
    type: sample
    spec:
      model: {name: "sim:two?median_s=0.001", price: {input: 0, output: 1000000}}
      prompt: ho
      requirements: [{regex: "^never$"}]
      loop_budget: 2
      concurrency_budget: 1
    continue_on_error: true
""")
    assert place.run("run", "w.yaml", "--run", "w").returncode == 0
    told = json.loads(place.run("report", "w", "--json").stdout)["steps"]
    assert told["think"]["calls"]["attempts"] == 1
    assert "calls" not in told["count"]
    spent = told["paid"]["calls"]
    assert spent["usd"]["total"] == spent["output_tokens"]["total"] > 0
    page = (tmp_path / "w.html").read_text()
    steps = page.partition('id="steps-title"')[2].partition("</section>")[0]
    lines = [" ".join(line.split("</p>")[0].split()) for line in steps.split('class="small">')[1:]]
    thought, paid = (told[name]["calls"]["tokens"]["total"] for name in ("think", "paid"))
    assert lines == [
        f"1 call to models: unknown dollars, {thought:,.0f} tokens",
        f"2 calls to models: {spent['usd']['total']:,.0f} dollars, {paid:,.0f} tokens",
    ]
    assert (
        f"at least {spent['usd']['total']:,.0f}" in page and "3 calls, 1 of unknown price" in page
    )


NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("FANWISE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize("width", [360, 1280])
def test_in_a_browser_items_are_filtered_and_nothing_sticks_out(place: Place, width: int) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    said: list[Any] = []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.on("console", lambda message: said.append(message.text))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.goto((place.path / "r.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        table = page.locator(".items").first
        rows = table.locator("tbody tr:visible")
        assert rows.count() == 3
        table.locator("select").select_option("failed")
        assert rows.count() == 1
        table.locator("select").select_option("")
        table.locator("input").fill("item-3")
        assert rows.count() == 1
        browser.close()
    assert said == []
