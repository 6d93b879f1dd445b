"""What plain SQL finds in the journal's views is what `read_matrix` says."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fanwise.errors import one_line
from fanwise.journal.open import open_journal
from fanwise.journal.port import AttemptRecord
from fanwise.journal.revive import revive_error
from fanwise.matrix.state.definitions import recorded
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.recorded_matrix import read_matrix
from fanwise.matrix.state.results import CellResult
from tests.matrix.real_run import RUN

Row = dict[str, Any]


@pytest.fixture
def found(recorded_matrix: Path) -> MatrixState:
    with closing(open_journal(recorded_matrix, read_only=True)) as journal:
        return read_matrix(journal, RUN)


@pytest.fixture
def sql(recorded_matrix: Path) -> Iterator[Any]:
    with closing(sqlite3.connect(f"file:{recorded_matrix}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row

        def ask(query: str, *values: Any) -> list[Row]:
            return [dict(row) for row in connection.execute(query, values)]

        yield ask


def by_cell(rows: list[Row]) -> dict[str, Row]:
    found = {row["cell"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def test_the_run_has_all_that_a_journal_can_hold_of_a_matrix(found: MatrixState) -> None:
    """What the other tests rest on: were it gone, they would show nothing."""
    results = found.results
    assert {each.status for each in results} == {"done", "failed"} and found.waiting
    assert any(len(each.steps) == 2 for each in results)
    assert any(each.status == "failed" and each.steps for each in results)  # its second step
    assert any("~1" in each.id for each in results)
    assert any(each.calls == 0 for each in results) and any(each.calls > 3 for each in results)
    assert any(each.usd is None for each in results)
    assert any(each.scoring_usd for each in results)
    assert any(score.error for each in results for score in each.scores.values())
    assert any(score.reason for each in results for score in each.scores.values())


def test_cells_are_those_of_the_matrix_as_it_is(found: MatrixState, sql: Any) -> None:
    rows = by_cell(sql("SELECT * FROM cells WHERE run = ? AND now", RUN))
    assert len(rows) == len(found.results) + len(found.waiting)
    for each in found.results:
        assert_same(rows[each.id], each)
    waiting = {each.cell.key for each in found.waiting}
    assert {row["cell"].partition("~")[0] for row in rows.values()
            if row["status"] == "waiting"} == waiting  # fmt: skip


def assert_same(row: Row, each: CellResult) -> None:
    cell, answer = each.cell, each.answer or {}
    axes = (row["model"], row["strategy"], row["input"], row["repeat"])
    assert axes == (cell.model, cell.strategy, cell.input, cell.repeat)
    assert (row["status"], row["text"]) == (each.status, answer.get("text"))
    assert value_of(row["value"]) == answer.get("value")
    assert (row["error"] is None) is (each.error is None)
    if each.error is not None:
        assert one_line(revive_error(row["error"])) == each.error
    names = ("calls", "input_tokens", "output_tokens")
    assert {name: row[name] for name in names} == {name: getattr(each, name) for name in names}
    for name in ("queued_s", "backoff_s", "ran_s", "usd", "first_token_s", "scoring_usd"):
        same = getattr(each, name)
        assert row[name] == (same if same is None else pytest.approx(same)), name
    assert row["started_at"] <= row["ended_at"]


def value_of(text: Any) -> Any:
    """Objects and lists are JSON in SQL; what is simple is itself."""
    return json.loads(text) if isinstance(text, str) and text[:1] in "{[" else text


def test_cells_of_the_matrix_before_it_was_edited_are_kept_apart(
    recorded_matrix: Path, sql: Any
) -> None:
    with closing(open_journal(recorded_matrix, read_only=True)) as journal:
        before = [each for each in recorded(journal, RUN) if not each.now]
    rows = by_cell(sql("SELECT * FROM cells WHERE run = ? AND NOT now", RUN))
    assert {each.cell for each in before} == rows.keys() and before
    assert {row["strategy"] for row in rows.values()} == {"one", "vote"}, "edited, and run anew"
    edited = [row for row in rows.values() if row["strategy"] == "one"]
    assert all(row["status"] in ("done", "failed") for row in edited)


def test_scores_are_those_of_the_cells(found: MatrixState, sql: Any) -> None:
    rows = sql("SELECT * FROM scores WHERE run = ? AND now", RUN)
    assert len(rows) == (len(found.results) + len(found.waiting)) * len(found.scorers)
    by_name = {(row["cell"], row["scorer"]): row for row in rows}
    assert len(by_name) == len(rows)
    for each in found.results:
        for name in found.scorers:
            row, score = by_name.pop((each.id, name)), each.scores.get(name)
            axes = (row["model"], row["strategy"], row["input"], str(row["repeat"]))
            assert axes == tuple(each.cell.axes.values())
            if score is None:
                # There is no answer to score, and there will be none.
                assert each.status == "failed"
                assert (row["status"], row["score"], row["error"]) == ("skipped", None, None)
            else:
                assert (row["score"], row["reason"]) == (score.score, score.reason)
                assert row["status"] == ("done" if score.error is None else "failed")
                assert (row["error"] is None) is (score.error is None)
    assert all(row["status"] == "waiting" for row in by_name.values())


def test_calls_are_all_attempts_with_the_cell_and_what_they_were_for(
    recorded_matrix: Path, sql: Any
) -> None:
    expected: list[tuple[str, AttemptRecord]] = []
    with closing(open_journal(recorded_matrix, read_only=True)) as journal:
        for fan_out in journal.fan_outs(RUN):
            attempts = journal.attempts(fan_out.id)
            expected += [(fan_out.path, each) for each in attempts if each.call is not None]
    rows = sql("SELECT * FROM calls WHERE run = ?", RUN)
    by_name = {(row["path"], row["item"], row["number"]): row for row in rows}
    assert len(by_name) == len(rows) == len(expected)
    for path, each in expected:
        row = by_name[path, each.key, each.number]
        for name in ("call", "caps", "started_at", "queued_s", "ran_s", "backoff_s", "usd",
                     "first_token_s", "input_tokens", "output_tokens", "error"):  # fmt: skip
            assert row[name] == getattr(each, name), name
        whole = path.removeprefix("cells/") if "/" in path else each.key
        assert (row["cell"], row["part"]) == (
            whole.split()[0],
            "score" if whole.split()[1] == "score" else "answer",
        )
    parts = {row["part"] for row in rows}
    assert parts == {"score", "answer"}
    assert any(row["path"] != "cells" and row["part"] == "answer" for row in rows)  # the samples
    assert {row["caps"] for row in rows if row["call"] != "odd"} == {"openai"}


def test_calls_add_up_to_the_cells(sql: Any) -> None:
    query = """
        SELECT c.cell, c.calls, count(k.cell) AS counted FROM cells c
        LEFT JOIN calls k ON k.run = c.run AND k.cell = c.cell AND k.part = 'answer'
        WHERE c.run = ? GROUP BY c.cell"""
    for row in sql(query, RUN):
        assert row["calls"] == row["counted"], row
