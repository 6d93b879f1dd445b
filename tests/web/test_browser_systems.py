"""Each page in a real browser, live, while a real run of its system happens.

A run waits wherever a file is awaited that the test makes: nothing moves unless it lets it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import COMMAND, eventually

from .browser import MARKS, PATIENCE_MS, ViewProcess, listen, open_browser, violations
from .projects import RUNS, make_runs, project

pytestmark = MARKS
WAIT = "while ! test -e {go}/go-{name}; do sleep 0.05; done"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as found:
        yield found


class Shown:
    """A page of the view on a project, and what it said on its console."""

    def __init__(self, folder: Path, browser: Any) -> None:
        self.folder = folder
        project(folder)
        self.view = ViewProcess(folder)
        self.context = browser.new_context(
            viewport={"width": 1280, "height": 900}, bypass_csp=False
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("dialog", lambda dialog: dialog.accept())
        self.said = listen(self.page)
        self._runs: list[subprocess.Popen[bytes]] = []
        self.page.goto(self.view.address)

    def start(self, *words: str, given: bytes = b"") -> subprocess.Popen[bytes]:
        made = subprocess.Popen(
            [*COMMAND, *words], cwd=self.folder, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert made.stdin is not None
        made.stdin.write(given)
        made.stdin.close()
        self._runs.append(made)
        return made

    def go(self, name: str) -> None:
        (self.folder / f"go-{name}").touch()

    def see(self, text: str) -> None:
        self.page.get_by_text(text).first.wait_for()

    def wait(self, name: str) -> str:
        return WAIT.format(go=self.folder, name=name)

    def close(self) -> None:
        for each in self._runs:
            each.kill()
            each.wait()
        self.context.close()
        self.view.stop()


@pytest.fixture
def shown(tmp_path: Path, browser: Any) -> Iterator[Shown]:
    made = Shown(tmp_path, browser)
    yield made
    made.close()


def test_a_workflow_is_coloured_live_and_its_gate_answered(shown: Shown) -> None:
    file = shown.folder / "flow.yaml"
    step = f'steps:\n  - {{id: first, type: shell, run: "{shown.wait("a")}"}}'
    file.write_text(file.read_text().replace("steps:", step))
    running = shown.start("run", "flow.yaml", "--run", "flow")
    shown.page.get_by_role("link", name="ship").click()
    shown.page.locator("#graph svg").wait_for()
    shown.page.locator("#steps details", has_text="first").first.click()
    shown.go("a")
    shown.see("waits for an answer")  # the sections changed by themselves
    assert running.wait(60) == 3
    assert shown.page.locator("#steps details[open]").count() == 1, "what was open stays open"
    shown.page.get_by_role("button", name="approve").click()
    shown.page.locator("h1 .status", has_text="done").wait_for()
    shown.page.get_by_role("cell", name="approve").first.wait_for()
    assert shown.said == []


def test_a_plan_is_approved_seen_live_applied_and_rolled_back(shown: Shown) -> None:
    file = shown.folder / "rename.py"
    file.write_text(f"import os\nos.system({shown.wait('a')!r})\n" + file.read_text())
    subprocess.run(["git", "add", "."], cwd=shown.folder, check=True)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, "commit", "-qm", "two"], cwd=shown.folder, check=True)
    asked = shown.start("run", "plan.yaml", "--view")
    assert asked.wait(60) == 3
    shown.page.get_by_role("link", name="rename").click()
    shown.see("Run 2 sub-plans?")
    shown.page.get_by_role("button", name="approve").click()
    shown.page.locator("#tree .chip", has_text="running").first.wait_for()
    shown.go("a")
    shown.page.locator("h1 .status", has_text="done").wait_for()
    shown.page.locator("#sub-plans summary").first.click()
    shown.page.locator("#sub-plans .diff .plus").first.wait_for()
    prices = shown.folder / "shop" / "cart" / "prices.py"
    assert "sum_up" in prices.read_text()
    shown.page.get_by_role("button", name="Apply").click()
    eventually(lambda: "def total" in prices.read_text())
    shown.page.get_by_role("button", name="Roll back").click()
    eventually(lambda: "def sum_up" in prices.read_text())
    assert shown.said == []


def test_a_matrix_is_scored_live_compared_and_filtered(shown: Shown) -> None:
    file = shown.folder / "matrix.yaml"
    slow = 'slow: {call: "waits:answer"}\n    always:'
    text = file.read_text().replace("always:", slow)
    (shown.folder / "waits.py").write_text(
        f"import os\ndef answer(subject): os.system({shown.wait('a')!r}); return 'positive'\n"
    )
    file.write_text(text)
    first = shown.start("run", "matrix.yaml")
    shown.page.get_by_role("link", name="sentiment").click()
    shown.page.locator("#inputs table").first.wait_for()
    shown.see("8 of 12")
    shown.go("a")
    shown.page.locator("h1 .status", has_text="done").wait_for()
    assert first.wait(60) in (0, 1)
    shown.see("12 of 12")
    shown.page.get_by_role("button", name="answers side by side").click()
    shown.page.get_by_text("expected: positive").first.wait_for()
    file.write_text(text.replace("Is it good?", "Is it any good?"))
    assert shown.start("run", "matrix.yaml").wait(60) in (0, 1)
    shown.page.reload()
    shown.page.get_by_role("link", name="with the one before").click()
    shown.page.get_by_role("heading", name="sentiment@1 and sentiment@2").wait_for()
    shown.page.goto(shown.view.at("/runs/sentiment/items?of_input=b&of_strategy=plain"))
    shown.page.get_by_role("link", name="sim:small").click()
    shown.see("Is it any good? It broke")
    shown.context.grant_permissions(["clipboard-read", "clipboard-write"])
    fold = shown.page.locator("details", has_text="The same as Python")
    fold.locator("summary").click()
    fold.get_by_role("button").click()
    fold.get_by_role("button", name="copied").wait_for()
    copied = shown.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("import asyncio") and "Is it any good? It broke" in copied
    assert shown.said == []


def test_samples_and_lines_are_seen_as_they_end(shown: Shown) -> None:
    command = f"{shown.wait('{}')}; echo line {{}}"
    lines = ("map", "--run", "m", "--cap", "2", "--", "sh", "-c", command)
    running = shown.start(*lines, given=b"1\n2\n3\n")
    shown.page.get_by_role("link", name="sh -c").click()
    shown.page.get_by_role("link", name="All items").click()
    shown.page.locator("tbody .status", has_text="started").first.wait_for()
    shown.go("1")
    shown.page.locator("tbody .status", has_text="done").first.wait_for()
    for name in ("2", "3"):
        shown.go(name)
    assert running.wait(60) == 0
    shown.page.get_by_role("link", name="2", exact=True).click()
    shown.see("echo line 2")
    assert shown.start("run", "sample.yaml", "--run", "greet").wait(60) in (0, 1)
    shown.page.goto(shown.view.at("/runs/greet/items?in=prompts"))
    shown.page.locator("tbody a").first.click()
    shown.see("Chain 2, repair 1")
    assert shown.said == []


def test_a_cancelled_run_is_resumed_by_its_button(shown: Shown) -> None:
    command = f"{shown.wait('{}')}; echo line {{}}"
    lines = ("map", "--run", "m", "--cap", "1", "--", "sh", "-c", command)
    running = shown.start(*lines, given=b"1\n2\n")
    shown.go("1")
    shown.page.get_by_role("link", name="sh -c").click()
    shown.see("1 of 2")
    shown.page.get_by_role("button", name="Cancel").click()
    assert running.wait(60) != 0
    shown.go("2")
    shown.page.get_by_role("button", name="Resume").click()
    shown.page.locator("h1 .status", has_text="done").wait_for()
    shown.see("2 of 2")
    assert shown.said == []


def test_candidates_are_seen_while_they_are_judged(shown: Shown) -> None:
    running = shown.start("run", "optimize.yaml", "--run", "faster")
    shown.page.locator("a[href='/runs/faster']").click()
    shown.page.locator("#candidates").wait_for()
    assert running.poll() is None, "it is seen before it has ended"
    assert running.wait(300) == 0
    shown.page.locator("#candidates .chip", has_text="accepted").first.wait_for()
    shown.page.locator("#winner .diff .plus").first.wait_for()
    shown.see("squares(")  # the smallest call that differs
    shown.page.get_by_role("button", name="Apply the winner").wait_for()
    assert shown.said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_wrong_with_any_system(tmp_path: Path, browser: Any, scheme: str) -> None:
    make_runs(project(tmp_path), apart=True)
    view = ViewProcess(tmp_path)
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    try:
        page = context.new_page()
        page.goto(view.address)
        found = {address: violations(page) for address in _each_page(page, view)}
    finally:
        context.close()
        view.stop()
    assert {address: wrong for address, wrong in found.items() if wrong} == {}


def _each_page(page: Any, view: ViewProcess) -> Iterator[str]:
    """Go to the pages of each run, and of its first item, one after the other."""
    for run in RUNS:
        for part in ("", "/items"):
            page.goto(view.at(f"/runs/{run}{part}"))
            page.get_by_text("live", exact=True).wait_for()
            if page.locator("#sections").count():
                page.locator("#sections section").first.wait_for()
            yield f"{run}{part}"
        if page.locator("tbody a").count():
            page.locator("tbody a").first.click()
            page.locator("#item").wait_for()
            yield f"{run}/item"
