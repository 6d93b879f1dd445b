"""Runs and versions side by side, from their pages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from fanwise import fan_out, open_run
from tests.matrix.test_run_comparison import HOSTILE, record, rows

from .test_pages import Pages


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """Two runs of a matrix, one of them with two versions, and one that cannot be compared."""
    folder = tmp_path_factory.mktemp("view")
    (folder / ".fanwise").mkdir()
    record(folder, "first", rows(4), "before")
    record(folder, "first", rows(4), "after")
    record(folder, "second", rows(4), "after")
    path = folder / ".fanwise" / "journal.db"

    async def other() -> None:
        async with open_run("other", journal=path) as run:
            await fan_out(asyncio.sleep, [0.0], cap=1, run=run)

    asyncio.run(other())
    made = Pages(path)
    yield made
    made.close()


def test_a_run_shows_its_versions_and_what_it_can_be_compared_with(pages: Pages) -> None:
    assert 'hx-get="/runs/first/history"' in pages.get("/runs/first").text
    page = pages.get("/runs/first/history").text
    assert "/compare?run=first%401&amp;run=first%402" in page
    assert "<option>second</option>" in page
    assert "<option>other" not in page
    assert "/history" not in pages.get("/runs/other").text


@pytest.mark.parametrize("runs", ["run=first@1&run=first@2", "run=first@1&run=second"])
def test_both_answers_are_there_as_text(pages: Pages, runs: str) -> None:
    page = pages.get(f"/compare?{runs}")
    assert (page.status, "What changed in the file" in page.text) == (200, True)
    assert "1 / " in page.text or " / 1" in page.text, "one got better or worse"
    assert HOSTILE not in page.text
    assert "/scripts/" in page.text


@pytest.mark.parametrize(
    ("runs", "status", "why"),
    [
        ("", 409, "at least two runs"),
        ("run=first", 409, "at least two runs"),
        ("run=first&run=first", 409, "each once"),
        ("run=first&run=other", 409, "cannot be compared"),
        ("run=first&run=none", 404, "there is no run"),
        ("run=first&run=first@9", 409, "9"),
        ("run=first&run=<script>", 404, "&lt;script&gt;"),
    ],
)
def test_what_cannot_be_compared_is_said(pages: Pages, runs: str, status: int, why: str) -> None:
    page = pages.get(f"/compare?{runs}")
    assert (page.status, why in page.text) == (status, True), page.text
