"""Every file that ARCHITECTURE.md and the packages' README.md name exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "fanwise"
PACKAGES = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))
PAGES = [ROOT / "ARCHITECTURE.md", *(package / "README.md" for package in PACKAGES)]

SPAN = re.compile(r"`([^`\s]+)`")
FILE = re.compile(r"[\w./-]+\.(?:py|toml|html|css|js)|[\w.-]+/[\w./-]+/")
LINK = re.compile(r"\]\(([\w./]+)\)")
NAME = r"`([\w.]+)`"
PLACED = re.compile(
    rf"{NAME} (?:in|of) `([\w./-]+\.py)`|`([\w./-]+\.py)` \({NAME}(?:\)|, {NAME}\))"
)


def find(text: str, page: Path, folders: set[Path]) -> Path | None:
    """The file that a page means: in the page's folder, the package, or the repository.

    A bare name may also be a file beside one that the same line names in full.
    """
    near = folders if "/" not in text else set()
    places = (folder / text for folder in [page.parent, PACKAGE, ROOT, *near])
    return next((path for path in places if path.exists()), None)


def missing(page: Path) -> Iterator[str]:
    for line in page.read_text().splitlines():
        folders = {(page.parent / link).parent for link in LINK.findall(line)}
        for text in SPAN.findall(line):
            if not FILE.fullmatch(text):
                continue
            found = find(text, page, folders)
            if found is None:
                yield f"{text}: no such file ({line[:60]}…)"
            else:
                folders.add(found.parent)
        for match in PLACED.finditer(line):
            path = match[2] or match[3]
            file = find(path, page, folders)
            for name in filter(None, (match[1], match[4], match[5])):
                if file is not None and name.split(".")[-1] not in file.read_text():
                    yield f"{path}: does not mention {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_named_exists(page: Path) -> None:
    assert list(missing(page)) == []


def test_architecture_leads_to_every_package() -> None:
    links = re.findall(r"\]\((src/fanwise/\w+/README\.md)\)", PAGES[0].read_text())
    assert sorted(links) == sorted(str(page.relative_to(ROOT)) for page in PAGES[1:])


QUESTIONS = {
    "How do I add a scorer?": ("a scorer", "matrix/scores/scorers.py"),
    "Why did this cell wait?": ("Why did this cell wait", "matrix/state/queue_limits.py"),
    "Why did this item wait?": ("Why did this item wait", "core/resource.py"),
    "What happens on kill -9?": ("kill -9", "kernel/recorder.py"),
    "Who kills my commands then?": ("kill -9", "processes/guard.py"),
    "What does Ctrl-C do?": ("once, on the command line", "cli/interrupts.py"),
    "What does a resume do?": ("What does a resume do", "kernel/recorded_outcomes.py"),
    "What is on disk?": ("What is on disk", "journal/schema.py"),
    "How do I add a column?": ("a column", "journal/version.py"),
    "How do I add a command?": ("a command", "cli/app.py"),
    "How do I add an entry point?": ("an entry point", "../../tests/test_entry_point_walk.py"),
    "What does `run=` take?": ("every entry point", "kernel/in_run.py"),
    "Which caps hold inside an item?": ("which caps hold", "kernel/scope.py"),
    "How do I add a provider?": ("a provider", "models/names.py"),
    "Where do prices come from?": ("tokens and dollars", "models/prices.py"),
    "How do I add a kind of step?": ("a kind of step", "workflow/steps/kinds.py"),
    "Which steps run again?": ("Which steps run again", "workflow/run/leaves.py"),
    "What may a leaf change?": ("Which files may a leaf change", "plan/work/lease.py"),
    "Is a candidate faster?": ("Is a candidate faster", "optimize/benchmark/compare.py"),
    "How do I write a system of my own?": ("What is a system", "specs/system.py"),
    "How do I change all pages?": ("all pages look like", "view/templates/base.html"),
    "How do I test a day of waiting?": ("hours of waiting", "testing/virtual_time.py"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_newcomers_question_leads_to_its_file(question: str) -> None:
    """From ARCHITECTURE.md, or the README.md of a package that it names: in one line."""
    words, wanted = QUESTIONS[question]
    lines = [(page, line) for page in PAGES for line in page.read_text().splitlines()]
    named = [
        find(text, page, set())
        for page, line in lines
        if words in line
        for text in SPAN.findall(line)
    ]
    assert (PACKAGE / wanted).resolve() in named
