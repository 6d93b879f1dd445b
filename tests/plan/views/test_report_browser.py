"""The page in a real browser: nothing that others wrote runs, and nothing sticks out.

Left out where there is no Chromium or no playwright; `FANWISE_CHROMIUM` says where it is.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanwise.plan.views.page import report
from tests.plan.views.test_report import hostile

playwright = pytest.importorskip("playwright.sync_api")
NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("FANWISE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("report")
    page = place / "page.html"
    page.write_text(report(hostile(place)).html)
    return page


@pytest.fixture(scope="module")
def browser(file: Path) -> Iterator[Any]:
    """After the page was made: there is no other loop beside a browser's."""
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_runs_or_is_fetched_and_nothing_sticks_out(
    browser: Any, file: Path, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert said == []
    assert asked == [file.as_uri()]
    context.close()
