"""The page in a real browser: nothing that a model wrote runs, and the list of cells works.

Left out where there is no Chromium or no playwright (`pip install playwright`, and a system's
Chromium; `FANWISE_CHROMIUM` says where it is).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fanwise.journal.open import open_journal
from fanwise.matrix.views.page import report
from tests.matrix.real_run import HOSTILE, HOSTILE_NAME, RUN

playwright = pytest.importorskip("playwright.sync_api")
NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("FANWISE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def file(recorded_matrix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    with closing(open_journal(recorded_matrix, read_only=True)) as journal:
        path.write_text(report(journal, journal.run(RUN)).html)
    return path


class Opened:
    """The page, and all that it said or asked for."""

    def __init__(self, browser: Any, file: Path, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(10_000)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(f"dialog {dialog.message}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("details.cell")

    @property
    def count(self) -> str:
        text: str = self.page.locator(".count").inner_text()
        return text

    def choose(self, label: str, value: str) -> None:
        self.page.get_by_label(label, exact=True).select_option(label=value)

    def open_all(self) -> None:
        for cell in self.page.query_selector_all("details.cell summary"):
            cell.click()


@pytest.fixture
def opened(browser: Any, file: Path) -> Iterator[Opened]:
    found = Opened(browser, file)
    yield found
    found.context.close()


def test_nothing_that_a_model_wrote_runs_or_is_fetched(opened: Opened, file: Path) -> None:
    opened.page.get_by_label("text", exact=True).fill("pwned")
    opened.open_all()
    shown = opened.page.locator("pre").all_inner_texts()
    assert any(HOSTILE in text for text in shown)
    assert opened.page.evaluate("window.pwned") is None
    assert opened.page.query_selector_all("img") == []
    assert (opened.said, opened.asked) == ([], [file.as_uri()])


def test_text_that_got_out_would_not_run_either(browser: Any, file: Path, tmp_path: Path) -> None:
    """The second line of defence, tried with a page that was tampered with."""
    broken = tmp_path / "broken.html"
    broken.write_text(file.read_text().replace("</main>", f"{HOSTILE}</main>"))
    opened = Opened(browser, broken)
    opened.page.wait_for_timeout(50)
    assert opened.page.evaluate("window.pwned") is None
    assert opened.page.query_selector_all("img")  # it did get out
    assert any("Content Security Policy" in line for line in opened.said)
    opened.context.close()


def test_cells_are_filtered_by_what_is_chosen(opened: Opened) -> None:
    assert opened.count.endswith("of 60 cells")
    opened.choose("show", "failed")
    failed = opened.page.locator("details.cell").count()
    assert opened.count == f"{failed} cells (of 60)" and failed > 2
    opened.choose("strategy", "two")
    assert 0 < opened.page.locator("details.cell").count() < failed
    opened.page.get_by_role("button", name="clear filters").click()
    assert opened.count.endswith("of 60 cells")
    opened.choose("show", "wrong (a score below 1)")
    for text in opened.page.locator("details.cell .chips").all_inner_texts():
        assert "0" in text
    opened.page.get_by_role("button", name="clear filters").click()
    opened.page.get_by_label("text", exact=True).fill("no such text anywhere")
    assert opened.count == "0 cells (of 60)"


def test_pages_are_turned(opened: Opened) -> None:
    first = opened.page.locator("details.cell .where").first.inner_text()
    opened.page.get_by_role("button", name="next").click()
    assert opened.count.startswith("41–60 of 60")  # noqa: RUF001
    assert opened.page.locator("details.cell .where").first.inner_text() != first
    opened.page.get_by_role("button", name="previous").click()
    assert opened.page.locator("details.cell .where").first.inner_text() == first


def test_a_cell_of_the_heat_map_leads_to_its_answers(opened: Opened) -> None:
    hard = opened.page.locator("#inputs td[data-strategy=one]").filter(has_text="failed").first
    hard.focus()
    hard.press("Enter")
    wheres = opened.page.locator("details.cell .where").all_inner_texts()
    assert wheres and all(" · one · " in where for where in wheres)
    name = hard.get_attribute("data-input")
    assert all(name in where for where in wheres)
    assert name in ("b", HOSTILE_NAME)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(browser: Any, file: Path, scheme: str) -> None:
    opened = Opened(browser, file, color_scheme=scheme)
    worst = opened.page.evaluate(CONTRAST)
    assert worst["ratio"] >= 4.0, worst
    opened.context.close()


def test_a_phone_scrolls_down_and_not_sideways(browser: Any, file: Path) -> None:
    opened = Opened(browser, file, viewport={"width": 360, "height": 740})
    opened.open_all()
    wide, seen = opened.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= seen
    opened.context.close()


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = rgb(getComputedStyle(each).backgroundColor);
      if (colour[3] > 0) return colour;
    }
    return [255, 255, 255, 255];
  };
  let worst = { ratio: 99 };
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || element.closest("svg, script, style, noscript, :disabled")) continue;
    const pair = [light(rgb(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (ratio < worst.ratio) worst = { ratio, text: element.textContent.slice(0, 40),
      class: element.className };
  }
  return worst;
}"""


def test_answers_stand_side_by_side_with_what_was_expected(browser: Any, file: Path) -> None:
    opened = Opened(browser, file)
    page = opened.page
    table = page.locator("table.answers")
    assert not table.is_visible()
    page.get_by_role("button", name="answers side by side").click()
    groups = {
        (row["model"], row["strategy"])
        for row in page.evaluate(
            """() => { const data = JSON.parse(document.getElementById("cells-data").textContent);
        return data.rows.map((row) => ({model: row[1], strategy: row[2], input: row[3]})); }"""
        )
    }
    assert table.locator("thead th").count() == 1 + len(groups) > 3
    first = table.locator("tbody tr").first
    assert first.locator("td").count() == len(groups)
    assert first.locator("td .chip").count() >= 2 and "expected: " in first.inner_text()
    answers = first.locator("td pre").all_inner_texts()
    assert len(set(answers)) > 1, "those of several models and strategies"
    page.get_by_role("button", name="answers side by side").click()
    assert not table.is_visible() and opened.said == []
