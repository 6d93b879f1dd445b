"""A byte flipped inside a row: every command says which row of which run is damaged."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from fanwise import fan_out_sync, open_run
from fanwise.errors import JournalDamaged
from tests.cli.support import Place
from tests.plan.support import make_repo, packages, write_plan
from tests.profiles import NO_SHRINKING, examples

MATRIX = """
matrix:
  name: m
  models: ["sim:a?median_s=0.001"]
  inputs: [{id: a, text: fine, label: good}]
  prompts: {one: {prompt: "Good? {{ input.text }}"}, always: {constant: good}}
  score: [{exact: input.label}]
"""
SAMPLE = """
sample: {model: "sim:a?median_s=0.001", prompt: hi, loop_budget: 2, requirements: [{regex: zz}]}
"""
FLOW = """
schema_version: "1.0"
workflow: {id: w, name: W, version: 1.0.0}
steps:
  - {id: first, type: shell, run: "echo '[0, 1]'", output_format: json}
  - id: each
    type: fan-out
    items: "{{ steps.first.output.data }}"
    step:
      id: whole
      type: if
      condition: true
      then: [{id: a, type: shell, run: "echo {{ item }}"}]
  - {id: ok, type: gate, message: "Go on?"}
"""
KEYS = {
    "runs": "number", "fan_outs": "seq", "items": "fan_out, key", "events": "seq",
    "attempts": "fan_out, key, number", "inputs": "run_id, input_index",
}  # fmt: skip
COLUMNS = [
    *(("runs", name) for name in ("kind", "name", "spec", "digest", "status", "error")),
    *(("fan_outs", name) for name in ("path", "halt", "status", "stats")),
    *(("items", name) for name in ("key", "status", "value", "error")),
    *(("attempts", name) for name in ("key", "call", "error", "caps")),
    *(("events", name) for name in ("kind", "data")),
    ("inputs", "data"),
]


class Cell(NamedTuple):
    """A value in the journal."""

    table: str
    column: str
    key: tuple[Any, ...]
    value: str | bytes
    run: str


class Damaged:
    """A journal with runs of several systems, in which one byte is flipped at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = folder / ".fanwise" / "journal.db"
        _make_runs(folder)
        with closing(sqlite3.connect(self.journal)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.cells = {each: list(_cells(connection, *each)) for each in COLUMNS}
        self._intact = self.journal.read_bytes()

    def write(self, cell: Cell, value: str | bytes) -> None:
        """The journal as it was, but for this value."""
        # A new file: a reader that met damage may have the old one open until it is collected.
        for old in self.journal.parent.glob("journal.db*"):
            if old.is_file():
                old.unlink()
        self.journal.write_bytes(self._intact)
        where = " AND ".join(f"{name} = ?" for name in KEYS[cell.table].split(", "))
        with closing(sqlite3.connect(self.journal)) as connection:
            connection.execute(
                f"UPDATE {cell.table} SET {cell.column} = ? WHERE {where}", (value, *cell.key)
            )
            connection.commit()

    def run(self, *args: str) -> tuple[int, str]:
        done = Place(self.folder).run(*args)
        return done.returncode, done.stderr.decode()


def _make_runs(folder: Path) -> None:
    place = Place(folder)
    for name, text in (("matrix", MATRIX), ("sample", SAMPLE), ("flow", FLOW)):
        (folder / name).with_suffix(".yaml").write_text(text)
        assert place.run("run", f"{name}.yaml", "--run", name).returncode in (0, 1, 3)
    command = ("sh", "-c", "test {} != 2 && echo {}")
    assert place.run("map", "--run", "map", "--", *command, given=b"1\n2\n3\n").returncode == 1
    make_repo(folder / "repo", packages(2))
    write_plan(folder, each={"command": "echo '# x' >> p00/m0.py"}, sandbox=False)
    assert place.run("run", "plan.json", "--run", "plan", "--yes").returncode == 0


def _cells(connection: sqlite3.Connection, table: str, column: str) -> Iterator[Cell]:
    fan_outs = dict(connection.execute("SELECT id, run_id FROM fan_outs"))
    owner = {"runs": "id", "items": "fan_out", "attempts": "fan_out"}.get(table, "run_id")
    query = f"SELECT {KEYS[table]}, {owner}, {column} FROM {table} WHERE length({column}) > 0"
    for *key, run, value in connection.execute(query):
        yield Cell(table, column, tuple(key), value, fan_outs.get(run, run))


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Damaged:
    return Damaged(tmp_path_factory.mktemp("damaged"))


@st.composite
def flips(draw: st.DrawFn, damaged: Damaged) -> tuple[Cell, str | bytes]:
    """A value, and what it is with one bit flipped; a text is still one."""
    column = draw(st.sampled_from([each for each, cells in damaged.cells.items() if cells]))
    cell = draw(st.sampled_from(damaged.cells[column]))
    data = bytearray(cell.value if isinstance(cell.value, bytes) else cell.value.encode())
    data[draw(st.integers(0, len(data) - 1))] ^= 1 << draw(st.integers(0, 7))
    if isinstance(cell.value, bytes):
        return cell, bytes(data)
    try:
        return cell, data.decode()
    except UnicodeDecodeError:
        assume(False)
        raise


WITH_FIXTURE = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)


@given(st.data())
@examples(1, phases=NO_SHRINKING, suppress=WITH_FIXTURE)
def test_no_flipped_bit_gives_a_traceback(damaged: Damaged, data: st.DataObject) -> None:
    cell, value = data.draw(flips(damaged))
    try:
        damaged.write(cell, value)
    except sqlite3.IntegrityError:
        return
    for command in (
        ["runs"],
        ["show", cell.run],
        ["show", cell.run, "--items", "--json"],
        ["export", cell.run],
        ["export", cell.run, "--items", "--format", "csv"],
        ["report", cell.run],
    ):
        code, said = damaged.run(*command)
        assert code in (0, 2) and "Traceback" not in said, (command, said)


@given(st.data())
@examples(0.5, phases=NO_SHRINKING, suppress=WITH_FIXTURE)
def test_nor_does_a_resume(damaged: Damaged, data: st.DataObject) -> None:
    cell, value = data.draw(flips(damaged))
    try:
        damaged.write(cell, value)
    except sqlite3.IntegrityError:
        return
    code, said = damaged.run("resume", cell.run)
    assert code in (0, 1, 2, 3, 130) and "Traceback" not in said, said


@pytest.mark.parametrize(
    ("table", "column", "old", "new", "row"),
    [
        ("items", "value", '"', "'", "the value of item"),
        ("items", "status", "d", "e", "item"),
        ("events", "data", "{", "[", "event"),
        ("fan_outs", "stats", "{", "[", "the statistics of fan-out"),
        ("runs", "spec", "a", "b", "the spec"),
        ("runs", "status", "d", "e", "the row"),
    ],
)
def test_the_error_names_the_run_and_the_row(
    damaged: Damaged, table: str, column: str, old: str, new: str, row: str
) -> None:
    cell = next(
        each
        for each in damaged.cells[table, column]
        if each.run == "matrix" and isinstance(each.value, str) and old in each.value
    )
    assert isinstance(cell.value, str)
    damaged.write(cell, cell.value.replace(old, new, 1))
    code, said = damaged.run("show", "matrix", "--items")
    assert code == 2
    assert f"journal.db is damaged: {row}" in said
    assert "Restore the file from a copy" in said
    assert "of run 'matrix'" in said


def test_a_program_that_goes_on_with_a_run_is_told_which_item(tmp_path: Path) -> None:
    journal = tmp_path / "j.db"

    def execute() -> list[str]:
        with open_run("r", journal=journal) as run:
            return fan_out_sync(str, [1, 2], run=run, key=lambda item: f"key {item}").values()

    assert execute() == ["1", "2"]
    with closing(sqlite3.connect(journal)) as connection:
        connection.execute("UPDATE items SET value = '\"2' WHERE key = 'key 2'")
        connection.commit()
    with pytest.raises(JournalDamaged, match="the value of item 'key 2' of run 'r'") as caught:
        execute()
    assert (caught.value.run_id, caught.value.path) == ("r", str(journal))
