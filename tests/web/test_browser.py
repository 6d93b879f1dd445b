"""The view in a real browser: live, quiet, usable by keyboard, and back after a restart."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import eventually

from .browser import MARKS, PATIENCE_MS, ViewProcess, listen, open_browser, violations

pytestmark = MARKS


@pytest.fixture
def view(tmp_path: Path) -> Iterator[ViewProcess]:
    made = ViewProcess(tmp_path)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as found:
        yield found


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    made = context.new_page()
    made.set_default_timeout(PATIENCE_MS)
    yield made
    context.close()


def map_process(folder: Path, *command: str, lines: str) -> subprocess.Popen[str]:
    made = subprocess.Popen(
        [sys.executable, "-m", "fanwise", "map", "--cap", "2", "--run", "r", "--", *command],
        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        text=True,
    )  # fmt: skip
    assert made.stdin is not None
    made.stdin.write(lines)
    made.stdin.close()
    return made


def test_a_run_is_seen_live_and_cancelled_by_its_button(
    view: ViewProcess, page: Any, tmp_path: Path
) -> None:
    """Each line waits for a file of its name: nothing moves unless the test lets it."""
    said = listen(page)
    page.goto(view.address)
    page.get_by_text("No runs yet").wait_for()
    wait = "while ! test -e go-{}; do read -t 0.05 _ < /dev/zero || :; done"
    running = map_process(tmp_path, "bash", "-c", wait, lines="1\n2\n3\n")
    try:
        page.get_by_role("link", name="bash").click()  # the row appeared by itself
        page.get_by_text("0 of 3").wait_for()
        (tmp_path / "go-1").touch()
        page.get_by_text("1 of 3").wait_for()
        page.on("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Cancel").click()
        page.get_by_text("cancelled", exact=True).wait_for()
        assert running.wait(60) != 0
    finally:
        running.kill()
        running.wait()
    assert said == []


def test_it_works_by_keyboard_and_on_a_phone_and_comes_back(
    view: ViewProcess, browser: Any, page: Any, tmp_path: Path
) -> None:
    done = map_process(tmp_path, "sh", "-c", "test {} != 2", lines="1\n2\n3\n")
    assert done.wait(120) == 1
    page.goto(view.address)
    page.get_by_text("live", exact=True).wait_for()
    told = page.locator("main time").first
    assert "T" not in told.inner_text() and "Z" not in told.inner_text(), "in the reader's zone"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Failures by cause").wait_for()
    page.goto(f"http://127.0.0.1:{view.port}/runs/r/items")
    page.keyboard.press("/")
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    page.wait_for_url("**/items?q=2*")  # the filter is in the address
    page.set_viewport_size({"width": 390, "height": 800})
    for address in ("/", "/runs/r", "/runs/r/items", "/runs/r/item?in=lines&key=1"):
        page.goto(f"http://127.0.0.1:{view.port}{address}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, address
    page.get_by_text("live", exact=True).wait_for()
    assert view.stop() == 130
    page.get_by_text("connection lost").wait_for()
    view.start("--port", view.port)  # a new token: the page that is open has the old one
    page.goto(view.address)
    page.get_by_text("live", exact=True).wait_for()


WAIT = "while ! test -e go; do read -t 0.05 _ < /dev/zero || :; done"


def test_a_cap_is_changed_on_the_page_and_typing_is_not_disturbed(
    view: ViewProcess, page: Any, tmp_path: Path
) -> None:
    running = map_process(tmp_path, "bash", "-c", f"echo >> began; {WAIT}", lines="1\n2\n3\n")
    try:
        page.goto(view.address)
        page.get_by_role("link", name="bash").click()
        limit = page.get_by_label("Limit of total")
        limit.fill("3")
        eventually(lambda: len((tmp_path / "began").read_text()) == 2)  # the journal has changed
        assert limit.input_value() == "3"
        page.get_by_role("button", name="Change").click()
        eventually(lambda: len((tmp_path / "began").read_text()) == 3)
        page.get_by_text("asked", exact=True).first.wait_for()
        (tmp_path / "go").touch()
        assert running.wait(60) == 0
        page.get_by_text("limit 3, at first 2").wait_for()
    finally:
        running.kill()
        running.wait()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_wrong_on_any_page(
    view: ViewProcess, browser: Any, tmp_path: Path, scheme: str
) -> None:
    done = map_process(tmp_path, "sh", "-c", "test {} != 2", lines="1\n2\n3\n")
    assert done.wait(120) == 1
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(view.address)
    for address in ("/", "/runs/r", "/runs/r/items", "/runs/r/item?in=lines&key=1", "/runs/none"):
        page.goto(f"http://127.0.0.1:{view.port}{address}")
        assert violations(page) == [], address
    context.close()
