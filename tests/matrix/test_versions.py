"""The versions of a matrix: what it was before an edit is kept, reported and compared."""

from __future__ import annotations

import json
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.journal.open import open_journal
from fanwise.matrix import Matrix, exact, run_matrix_sync
from fanwise.matrix.cells.cell import Cell
from fanwise.matrix.state.definitions import Definition, cells_of, updated
from fanwise.matrix.state.recorded_matrix import read_matrix
from fanwise.testing import ScriptedModel
from tests.cli.support import Place

INPUTS = [{"id": f"i{n}", "label": "good"} for n in range(4)]


class Asked:
    """A model that counts, and knows the right answer only if it is asked kindly."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def answer(self, request: Any) -> str:
        self.prompts.append(request.messages[-1].content)
        return "good" if self.prompts[-1].startswith("Kind") else "bad"


def record(
    folder: Path, prompts: dict[str, str], asked: Asked, edit: Any = None, **more: Any
) -> None:
    model = ScriptedModel(asked.answer, name="scripted:one")
    fields = {"models": [model], "inputs": INPUTS, "score": [exact("label")], **(edit or {})}
    made = Matrix("reviews", prompts=prompts, **fields)
    run_matrix_sync(made, run="reviews", journal=folder / ".fanwise" / "journal.db", **more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Version 1, an edited prompt (2), both once more (still 2), and all of it run anew (3)."""
    found = tmp_path_factory.mktemp("versions")
    (found / ".fanwise").mkdir()
    asked = Asked()
    record(found, {"plain": "Plain {{ input.id }}", "other": "Other {{ input.id }}"}, asked)
    edited = {"plain": "Kind {{ input.id }}", "other": "Other {{ input.id }}"}
    record(found, edited, asked)
    assert len(asked.prompts) == 8 + 4, "cells that did not change are reused"
    record(found, edited, asked)
    assert len(asked.prompts) == 12
    record(found, edited, asked, rerun="all")
    assert len(asked.prompts) == 20
    return found


def documents(folder: Path, *arguments: str) -> dict[str, Any]:
    done = Place(folder).run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_an_edit_and_a_rerun_are_versions_and_running_it_again_is_not(folder: Path) -> None:
    found = documents(folder, "runs", "--name", "reviews")
    assert [each["id"] for each in found["runs"]] == ["reviews"]
    rows = found["versions"]["reviews"]
    assert [(row["version"], row["cells"], row["exact"][:5]) for row in rows] == [
        ("1", 8, "0.000"), ("2", 8, "0.500"), ("3", 8, "0.500"),
    ]  # fmt: skip
    lines = Place(folder).run("runs", "--name", "reviews").stdout.decode()
    assert "0.500" in lines and "STARTED_AT" in lines
    assert documents(folder, "runs", "--name", "nothing")["runs"] == []


def test_a_version_has_the_cells_and_the_file_that_it_had(folder: Path) -> None:
    with closing(open_journal(str(folder / ".fanwise" / "journal.db"), read_only=True)) as journal:
        first, second, third = (read_matrix(journal, "reviews", version=n) for n in "123")
        now, latest = (
            read_matrix(journal, "reviews"),
            read_matrix(journal, "reviews", None, "latest"),
        )
    assert [each.id for each in now.results] == [each.id for each in latest.results]
    assert [each.id for each in third.results] == [each.id for each in now.results]
    shared = {each.id for each in first.results} & {each.id for each in second.results}
    assert len(shared) == 4, "the strategy that was not edited"
    assert {each.cell.strategy for each in second.results if each.id in shared} == {"other"}
    assert not {each.id for each in second.results} & {each.id for each in third.results}
    assert first.given is not None
    asked = [first.given.asked(each, 0)[-1]["content"] for each in first.results]
    assert "Plain i0" in asked and "Kind i0" not in asked


def test_versions_are_compared_shown_exported_and_reported_by_name(folder: Path) -> None:
    compared = documents(folder, "compare", "reviews@1", "reviews@latest")
    (found,) = compared["comparisons"]
    assert (found["before"], found["after"], found["pairs"]) == ("reviews@1", "reviews@latest", 8)
    assert any(line.startswith("-") and "Plain" in line for line in found["diff"])
    assert len(found["flipped"]["exact"]) == 4
    place = Place(folder)
    rows = [json.loads(line) for line in place.run("export", "reviews@1").stdout.splitlines()]
    assert {row["text"] for row in rows} == {"bad"} and len(rows) == 8
    assert "0.000" in place.run("show", "reviews@1").stdout.decode()
    made = documents(folder, "report", "reviews@1")
    assert (made["version"], made["summary"]["whole"]["scores"]["exact"]["mean"]["value"]) == (1, 0)
    page = (folder / "reviews@1.html").read_text()
    assert "exact over time" in page and page.count('<th scope="row">3</th>') == 1
    for wrong in ("reviews@4", "reviews@old", "reviews@baseline"):
        assert place.run("report", wrong).returncode == 2


def test_a_baseline_is_a_version_whatever_runs_later(folder: Path) -> None:
    place = Place(folder)
    assert documents(folder, "baseline", "reviews@2") == {"run": "reviews", "baseline": 2}
    assert documents(folder, "baseline", "reviews")["baseline"] == 3
    assert documents(folder, "baseline", "reviews@1")["baseline"] == 1
    rows = documents(folder, "runs", "--name", "reviews")["versions"]["reviews"]
    assert [row["version"] for row in rows] == ["1 (baseline)", "2", "3"]
    (found,) = documents(folder, "compare", "reviews@baseline", "reviews")["comparisons"]
    assert found["before"] == "reviews@baseline" and len(found["flipped"]["exact"]) == 4
    assert place.run("baseline", "reviews@9").returncode == 2
    assert place.run("baseline", "nothing").returncode == 2


def names_of(folder: Path) -> list[str]:
    rows = documents(folder, "runs", "--name", "reviews")["versions"]["reviews"]
    return [row["version"] for row in rows]


def test_an_edit_that_changes_no_cell_is_a_version_and_asking_for_some_cells_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / ".fanwise").mkdir()
    asked, prompts = Asked(), {"plain": "Plain {{ input.id }}", "other": "Other {{ input.id }}"}
    record(tmp_path, prompts, asked)
    record(tmp_path, prompts, asked, only=["input=i0"])
    assert names_of(tmp_path) == ["1"]
    record(tmp_path, prompts, asked, edit={"failed_as": "missing"})
    assert (names_of(tmp_path), len(asked.prompts)) == (["1", "2"], 8)


def test_what_was_settled_in_a_version_is_not_said_of_another(tmp_path: Path) -> None:
    (tmp_path / ".fanwise").mkdir()
    prompts = {"plain": "Plain {{ input.id }}", "kind": "Kind {{ input.id }}"}
    inputs = [{"id": f"i{n}", "label": "good"} for n in range(30)]
    edit = {"inputs": inputs, "repeat": 2, "caps": {"scripted": 1}}
    record(tmp_path, prompts, Asked(), edit=edit, stop_when_decided=True)
    record(tmp_path, prompts, Asked(), edit={**edit, "repeat": 1})
    with closing(open_journal(tmp_path / ".fanwise" / "journal.db", read_only=True)) as journal:
        first, second = (read_matrix(journal, "reviews", version=n) for n in "12")
    assert [each.decision for each in first.verdicts] == ["first"] and first.left_out
    assert (list(second.verdicts), second.waiting) == ([], [])


def cell(name: str) -> Cell:
    return Cell(name, "m", "s", name, 1, "p", 0)


def define(name: Cell, time: int) -> Definition:
    cell_id = name.key if time == 0 else f"{name.key}~{time}"
    return Definition(name.key, "m", "s", name.key, 1, "p", 0, cell_id, ["answer"], {}, time)


def _is_named(names: set[str], each: Definition) -> bool:
    return each.key in names


some = st.sets(st.sampled_from("abcd"))
edits = st.lists(st.tuples(some.filter(bool), some), min_size=1, max_size=6)


@given(edits)
def test_every_version_has_its_cells_whatever_was_edited_later(
    history: list[tuple[set[str], set[str]]],
) -> None:
    """Each edit: the cells of the matrix, and which of them run anew."""
    rows: list[Definition] = []
    expected: list[list[str]] = []
    for number, (names, again) in enumerate(history, 1):
        cells = [cell(each) for each in sorted(names)]
        found, changes = updated(rows, cells, define, partial(_is_named, again), number)
        for row, each in sorted(changes.items()):
            rows[row : row + 1] = [each]
        expected.append(sorted(each.cell for each in found.values()))
        assert updated(rows, cells, define, lambda _: False, number + 1)[1] == {}
    for number, wanted in enumerate(expected, 1):
        assert sorted(each.cell for each in cells_of(rows, number)) == wanted
    assert sorted(each.cell for each in cells_of(rows)) == expected[-1]
