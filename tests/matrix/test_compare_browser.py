"""The page of `fanwise compare` in a real browser: filters work, and answers are only text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.matrix.test_report_browser import CHROMIUM, Opened, browser  # noqa: F401
from tests.matrix.test_run_comparison import HOSTILE, folder  # noqa: F401

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture
def opened(folder: Path, browser: Any) -> Iterator[Opened]:  # noqa: F811
    # The runs come first: playwright has an event loop in this thread from then on.
    found = Opened(browser, folder / "compare.html")
    yield found
    assert found.said == [], "the page complained, or ran what a model wrote"
    assert found.page.evaluate("window.pwned") is None
    found.context.close()


def test_changed_cells_are_listed_worst_first_with_both_answers(opened: Opened) -> None:
    assert opened.count == "6 of 7 pairs"
    first = opened.page.locator("details.cell").first
    assert "i0" in first.inner_text() and "1 → 0" in first.inner_text()
    answers = first.locator(".pair .block pre").all_inner_texts()
    assert answers == ["good", HOSTILE]
    box = [first.locator(".pair .side").nth(n).bounding_box() for n in (0, 1)]
    assert box[0]["x"] < box[1]["x"] and box[0]["y"] == box[1]["y"], "side by side"


def test_filters_choose_what_got_worse_and_what_has_no_score(opened: Opened) -> None:
    opened.choose("show", "worse")
    assert opened.count == "1 of 7 pairs"
    opened.choose("show", "without both scores")
    assert opened.count == "1 of 7 pairs"
    assert "no connection" in opened.page.locator("details.cell").first.inner_text()
    opened.choose("show", "all")
    opened.page.get_by_label("text", exact=True).fill("i3")
    assert opened.count == "1 of 7 pairs"
