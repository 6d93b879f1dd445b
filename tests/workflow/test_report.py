"""`fanwise report` of a workflow: everything is in it, and nothing that others wrote runs."""

from __future__ import annotations

import getpass
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from fanwise.journal.open import open_journal
from fanwise.workflow.views.page import MOST_ITEMS, report
from tests.cli.support import Place
from tests.marks import slow

FILE = """
workflow: {id: rep, name: Rep}
inputs: {what: {default: "</script><b>bold</b>"}}
steps:
  - {id: say, type: shell, run: "printf %s {{ inputs.what }}; echo log-line >&2"}
  - id: each
    type: fan-out
    items: [1, 2, 3]
    max_concurrency: 2
    continue_on_error: true
    step: {id: one, type: shell, run: "echo item-{{ item }}; test {{ item }} != 2"}
  - {id: ok, type: gate, message: "Ship {{ inputs.what }}?"}
  - {id: last, type: shell, run: "exit 3"}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    made = Place(tmp_path_factory.mktemp("report"))
    (made.path / "w.yaml").write_text(FILE)
    assert made.run("run", "w.yaml", "--run", "r").returncode == 3
    assert made.run("resume", "r", "--answer", "ok=approve").returncode == 1
    assert made.run("report", "r").returncode == 0
    return made


def test_the_page_has_graph_timeline_gates_steps_and_tables(place: Place) -> None:
    page = (place.path / "r.html").read_text()
    for title in ("Graph", "Timeline", "Gates", "Steps", "Fan-outs", "File"):
        assert f">{title}</h2>" in page
    gates = page.partition('id="gates-title"')[2].partition("</section>")[0]
    assert "approve" in gates and f"{getpass.getuser()}, with fanwise resume" in gates
    assert "<time datetime=" in gates
    steps = page.partition('id="steps-title"')[2].partition("</section>")[0]
    assert "log-line" in steps, "its log"
    assert "&#34;line&#34;: [" in steps, "its input"
    assert "the command exited with code 3" in steps
    items = page.partition('id="fan-outs-title"')[2].partition("</section>")[0]
    assert items.count("<tr data-status=") == 3
    assert 'data-status="failed"' in items and "item-2" in items
    assert "<b>bold" not in page


def test_the_same_is_data(place: Place) -> None:
    told = json.loads(place.run("report", "r", "--json").stdout)
    step = told["steps"]["each:one:1"]
    assert (step["status"], step["output"]["stdout"]) == ("failed", "item-2\n")
    assert "test" in step["input"]["line"][0]
    assert step["ended"] >= step["began"]
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
        f"1 call to models: {spent['usd']['total']:,.0f} dollars, {paid:,.0f} tokens",
    ]
    assert (
        f"at least {spent['usd']['total']:,.0f}" in page and "2 calls, 1 of unknown price" in page
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
        rows = page.locator(".items tbody tr:visible")
        assert rows.count() == 3
        page.select_option(".items select", "failed")
        assert rows.count() == 1
        page.select_option(".items select", "")
        page.fill(".items input", "item-3")
        assert rows.count() == 1
        browser.close()
    assert said == []
