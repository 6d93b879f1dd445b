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
