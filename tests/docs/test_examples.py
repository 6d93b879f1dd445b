"""Every example in README.md and docs/ runs, and prints what the page says.

The blocks of a page run from top to bottom, in one empty folder:

- `python`: run; the blocks of a page share their names; `await` may stand at the top level. A
  `text` block right after it is what it prints.
- `python file=NAME`, `yaml file=NAME`: written to that file.
- `console`: lines that begin with `$ ` are run by sh (`> ` goes on with the line before); what
  stands below them is what they print, stdout and stderr together.

In what is printed `…` stands for anything, and a line that is only `…` for any lines.
`not-run` after the language marks a block that cannot run here; the page says so. So does
`needs=smollm2` one that is left out where that model is not there and cannot be pulled.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import io
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fanwise.models.local.server import stop_all
from tests.marks import slow_unless

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted(p for p in (ROOT / "docs").rglob("*.md") if p.parent.name != "reference"),
]
LONG = [
    ROOT / "docs" / f"{name}.md"
    for name in (
        "guides/ci",
        "guides/command-line",
        "guides/compare-prompts",
        "guides/matrix",
        "guides/matrix-results",
        "guides/optimize",
        "guides/past-one-machine",
        "guides/refactor-with-agents",
        "guides/sampling",
        "guides/ten-thousand-prompts",
        "guides/workflows",
        "recipes/commands",
        "start/install",
        "start/tour",
        "start/tutorial",
    )
]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"python", "console", "text", "sql", "yaml"}
TIMEOUT_S = 300


@dataclass(frozen=True)
class Block:
    language: str
    marks: str
    text: str
    line: int
    follows_code: bool
    """Nothing but white space stands between the block before, which is Python, and this."""


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text()
    end, before = 0, ""
    for found in BLOCK.finditer(text):
        gap = text[end : found.start()].strip()
        line = text.count("\n", 0, found.start()) + 1
        language, marks, code = found[1], found[2].strip(), found[3]
        yield Block(language, marks, code, line, before == "python" and not gap)
        end, before = found.end(), language


def matches(shown: str, printed: str) -> bool:
    """Whether this was printed; `…` stands for anything."""
    pattern = ""
    for line in shown.rstrip("\n").split("\n"):
        pattern += (
            r"(?:.*\n)*?"
            if line.strip() == "…"
            else ".*?".join(map(re.escape, line.split("…"))) + "\n"
        )
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


class Page:
    """The namespace and the folder of one page."""

    def __init__(
        self, path: Path, folder: Path, runner: asyncio.Runner, have: Callable[[str], bool]
    ) -> None:
        self.path = path
        self.have = have
        self.left_out = False
        self.folder = folder
        self.runner = runner
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.printed = ""

    def run(self, block: Block) -> None:
        if block.language != "text":
            self.left_out = self._is_left_out(block)
        if self.left_out:
            return
        if block.language == "console":
            self._console(block)
        elif block.marks.startswith("file="):
            file = self.folder / block.marks.removeprefix("file=")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        elif block.language == "python":
            self._python(block)
        elif block.language == "text" and block.follows_code:
            self._compare(block.line, block.text, self.printed)

    def _is_left_out(self, block: Block) -> bool:
        if block.marks.startswith("needs="):
            return not self.have(block.marks.removeprefix("needs="))
        return block.marks == "not-run"

    def _python(self, block: Block) -> None:
        source = "\n" * block.line + block.text  # so that a traceback has the page's lines
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(source, str(self.path), "exec", flags=flags, dont_inherit=True)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            result = types.FunctionType(code, self.names)()
            if asyncio.iscoroutine(result):
                self.runner.run(result)
        self.printed = out.getvalue()

    def _console(self, block: Block) -> None:
        for line, command, shown in _commands(block):
            done = subprocess.run(
                ["sh", "-c", command],
                cwd=self.folder,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
            self._compare(line, shown, done.stdout)

    def _compare(self, line: int, shown: str, printed: str) -> None:
        if not matches(shown, printed):
            where = f"{self.path.relative_to(ROOT)}, line {line}"
            pytest.fail(f"{where}: the page says\n{shown}\nand this was printed\n{printed}")


def _commands(block: Block) -> Iterator[tuple[int, str, str]]:
    """Each command with its line in the page, and what is shown below it."""
    command: list[str] = []
    shown: list[str] = []
    began = block.line
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        if line.startswith("$ "):
            if command:
                yield began, "\n".join(command), "\n".join(shown)
            command, shown, began = [line[2:]], [], number
        elif line.startswith("> ") and not shown:
            command.append(line[2:])
        else:
            shown.append(line)
    yield began, "\n".join(command), "\n".join(shown)


def _environment() -> dict[str, str]:
    programs = str(Path(sys.executable).parent)
    env = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}
    return {name: value for name, value in env.items() if name != "FANWISE_JOURNAL"}


@pytest.mark.parametrize(
    "path",
    slow_unless([page for page in PAGES if page not in LONG], PAGES),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_examples_of_a_page_run_and_print_what_it_says(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    ray = sys.modules.get("ray")
    if path.stem == "past-one-machine" and ray is not None and ray.is_initialized():
        pytest.skip("a cluster of other tests runs in this process and has all of its cores")

    def have(fixture: str) -> bool:
        try:
            request.getfixturevalue(fixture)
        except pytest.skip.Exception:
            return False
        return True

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FANWISE_JOURNAL", raising=False)
    stop_all()  # a page begins as a program does: without a model's server of another page
    with asyncio.Runner() as runner:
        page = Page(path, tmp_path, runner, have)
        for block in blocks_of(path):
            assert block.language in LANGUAGES, f"{path}, line {block.line}"
            page.run(block)


def test_few_examples_are_marked_as_not_run() -> None:
    marked = [b for path in PAGES for b in blocks_of(path) if b.marks == "not-run"]
    assert len(marked) <= 3


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*PAGES, *ROOT.glob("*.md"), *(ROOT / "docs" / "reference").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\nb", "a\nb\n", True),
        ("a …", "a 1.5 s\n", True),
        ("a …", "a 1\nb\n", False),
        ("a\n…\nd", "a\nb\nc\nd\n", True),
        ("…\nd", "d\n", True),
        ("", "", True),
        ("a", "", False),
    ],
)
def test_an_ellipsis_stands_for_anything(shown: str, printed: str, same: bool) -> None:
    assert matches(shown, printed) is same
