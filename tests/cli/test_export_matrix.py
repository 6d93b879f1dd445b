"""`fanwise export` of a matrix, and Parquet of any run."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from fanwise.journal.open import open_journal
from fanwise.matrix import Matrix, Subject, run_matrix_sync
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.recorded_matrix import read_matrix
from fanwise.matrix.state.results import CellResult
from tests.cli.support import Place
from tests.matrix.real_run import RUN, record


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "journal.db"
    record(path)
    return path


@pytest.fixture(scope="module")
def found(journal: Path) -> MatrixState:
    with closing(open_journal(journal, read_only=True)) as opened:
        return read_matrix(opened, RUN)


def export(place: Place, journal: Path, *args: str) -> subprocess.CompletedProcess[bytes]:
    return place.run("export", RUN, "--journal", str(journal), *args)


def score_in_row(result: CellResult, name: str) -> float | None:
    if result.fault == "strategy":
        return 0.0
    return result.scores[name].score if name in result.scores else None


def expected(found: MatrixState) -> dict[str, dict[str, Any]]:
    assert found.given is not None
    rows: dict[str, dict[str, Any]] = {}
    asked = found.given.asked
    for each in found.results:
        answer = each.answer or {"text": None, "value": None}
        rows[each.id] = {
            "model": each.cell.model, "strategy": each.cell.strategy, "input": each.cell.input,
            "repeat": each.cell.repeat, "status": each.status, "text": answer["text"],
            "value": answer["value"], "error": each.error, "calls": each.calls, "usd": each.usd,
            "input_tokens": each.input_tokens, "ran_s": each.ran_s,
            "messages": (asked(each, len(each.steps) - 1) or None) if each.answer else None,
            **{f"score_{name}": score_in_row(each, name) for name in found.scorers},
            **{f"scorer_error_{name}": score.error for name, score in each.scores.items()},
        }  # fmt: skip
    return rows | {each.cell.key: {"status": "waiting"} for each in found.waiting}


def test_a_matrix_is_one_row_for_each_cell(place: Place, journal: Path, found: MatrixState) -> None:
    done = export(place, journal)
    assert (done.returncode, done.stderr) == (0, b"")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    by_cell = {row["cell"]: row for row in rows}
    wanted = expected(found)
    assert len(rows) == len(by_cell) and by_cell.keys() == wanted.keys()
    for cell, fields in wanted.items():
        assert {name: by_cell[cell].get(name) for name in fields} == fields
    document = json.loads(export(place, journal, "--json").stdout)
    assert document == {"run": RUN, "cells": rows}


def test_csv_has_the_same_rows_and_a_column_for_each_score(
    place: Place, journal: Path, found: MatrixState
) -> None:
    done = export(place, journal, "--format", "csv", "--output", "x.csv", "--json")
    number = len(found.results) + len(found.waiting)
    assert json.loads(done.stdout) == {
        "run": RUN, "output": "x.csv", "format": "csv", "cells": number,
    }  # fmt: skip
    rows = list(csv.DictReader(io.StringIO((place.path / "x.csv").read_text(), newline="")))
    assert len(rows) == number
    by_cell = {row["cell"]: row for row in rows}
    for each in found.results:
        row = by_cell[each.id]
        assert row["text"] == ("" if each.answer is None else each.answer["text"])
        for name in found.scorers:
            score = score_in_row(each, name)
            assert row[f"score_{name}"] == ("" if score is None else str(score))


def test_parquet_has_the_same_rows_with_types(
    place: Place, journal: Path, found: MatrixState
) -> None:
    done = export(place, journal, "--format", "parquet", "-o", "x.parquet")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    table = parquet.read_table(place.path / "x.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert (types["repeat"], types["score_exact"], types["text"]) == ("int64", "double", "string")
    by_cell = {row["cell"]: row for row in table.to_pylist()}
    for cell, fields in expected(found).items():
        for name, value in fields.items():
            if name in ("value", "messages"):
                value = None if value is None else json.dumps(value)
                stored = by_cell[cell][name]
                assert (stored and json.loads(stored)) == (value and json.loads(value))
            else:
                assert by_cell[cell][name] == value, name


def test_the_items_of_a_matrix_are_there_for_who_asks(
    place: Place, journal: Path, found: MatrixState
) -> None:
    done = export(place, journal, "--items", "--json")
    items = json.loads(done.stdout)["items"]
    keys = {row["key"] for row in items if row["path"] == "cells"}
    assert {f"{each.id} score odd" for each in found.results if each.scores} <= {
        key.rpartition(" ")[0] for key in keys
    }
    assert {"index", "key", "starts", "started_at"} <= items[0].keys()


def test_parquet_of_a_run_of_commands_has_its_moments(place: Place) -> None:
    done = place.run("map", "--run", "r", "--", "echo", given=b"a\n\xff\nb\n")
    assert done.returncode == 0
    done = place.run("export", "r", "--format", "parquet", "-o", "r.parquet", "--json")
    assert json.loads(done.stdout)["items"] == 3
    table = parquet.read_table(place.path / "r.parquet")
    rows = table.to_pylist()
    lines = [json.loads(line) for line in place.run("export", "r").stdout.splitlines()]
    for row, line in zip(rows, lines, strict=True):
        for name in ("index", "status", "stdout", "input_base64", "exit_code", "ran_s"):
            assert row[name] == line.get(name)
        assert row["started_at"] == datetime.fromisoformat(line["started_at"])


def test_parquet_goes_to_a_file_and_not_to_stdout(place: Place, journal: Path) -> None:
    done = export(place, journal, "--format", "parquet")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--output FILE" in done.stderr
    done = export(place, journal, "--format", "parquet", "-o", "no/such/x.parquet")
    assert done.returncode == 2 and b"no/such/x.parquet" in done.stderr


def test_without_pyarrow_the_error_names_the_extra(place: Place, journal: Path) -> None:
    program = (
        "import sys; sys.modules['pyarrow'] = None;"
        "from fanwise.cli.app import run_and_flush;"
        "sys.exit(run_and_flush(sys.argv[1:]))"
    )
    args = ["export", RUN, "--journal", str(journal), "--format", "parquet", "-o", "x.parquet"]
    done = subprocess.run(
        [sys.executable, "-c", program, *args], capture_output=True, cwd=place.path, check=False
    )
    assert done.returncode == 2
    assert b"fanwise[parquet]" in done.stderr
    assert not (place.path / "x.parquet").exists()


def test_csv_does_not_let_a_spreadsheet_run_what_a_model_wrote(tmp_path: Path) -> None:
    place = Place(tmp_path)
    formulas = ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1", "plain"]

    async def say(subject: Subject) -> str:
        return str(subject.input["text"])

    rows = [{"id": str(n), "text": text} for n, text in enumerate(formulas)]
    made = Matrix("formulas", inputs=rows, prompts={"say": say})
    run_matrix_sync(made, run="formulas", journal=tmp_path / "j.db")
    read: list[list[str]] = []
    for more in ([], ["--raw"]):
        done = place.run(
            "export", "formulas", "--journal", "j.db", "--format", "csv", "-o", "x.csv", *more
        )
        assert done.returncode == 0
        text = (tmp_path / "x.csv").read_bytes().decode()
        read.append([row["text"] for row in csv.DictReader(io.StringIO(text, newline=""))])
    assert read[0] == [f"'{each}" for each in formulas[:-1]] + ["plain"]
    assert read[1] == formulas


def test_every_row_has_every_column(place: Place, journal: Path) -> None:
    rows = [json.loads(line) for line in export(place, journal).stdout.splitlines()]
    assert len({tuple(row) for row in rows}) == 1 and "waiting" in {row["status"] for row in rows}
    items = [json.loads(line) for line in export(place, journal, "--items").stdout.splitlines()]
    assert len({tuple(row) for row in items}) == 1


def test_failed_as_is_an_option_of_what_shows_scores(place: Place, journal: Path) -> None:
    def scores(*more: str) -> list[Any]:
        rows = [json.loads(line) for line in export(place, journal, *more).stdout.splitlines()]
        return [row["score_exact"] for row in rows if row["fault"] == "strategy"]

    assert set(scores()) <= {0.0} and set(scores("--failed-as", "missing")) <= {None}
    for command in (["report", RUN, "-o", "x.html"], ["show", RUN]):
        done = place.run(*command, "--journal", str(journal), "--failed-as", "missing")
        assert done.returncode == 0
    assert place.run("show", RUN, "--journal", str(journal), "--failed-as", "2").returncode == 2
