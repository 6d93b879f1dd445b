"""The command line on a journal that is on a PostgreSQL server."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import psycopg
import pytest

from fanwise.journal.postgres.views import VIEWS
from fanwise.journal.views import VIEWS as SQLITE_VIEWS
from tests.cli.support import Place
from tests.postgres import Server

MATRIX = """
matrix:
  name: m
  models: ["sim:a?median_s=0.001"]
  prompts: {plain: "Say {{ input.text }}"}
  inputs: [{id: a, text: x, label: x}, {id: b, text: y, label: y}]
  repeat: 2
  score: [{exact: input.label}]
"""


@pytest.fixture
def server(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("FANWISE_JOURNAL", postgres.address)
    return postgres


def test_a_run_is_made_shown_exported_and_listed_without_a_file_here(
    server: Server, place: Place
) -> None:
    journal = ("--journal", server.address)
    done = place.run("map", "--run", "r", *journal, "--", "echo", "{}", given=b"a\nb\n")
    assert (done.returncode, done.stdout) == (0, b"a\nb\n")
    assert json.loads(place.run("runs", "--json", *journal).stdout)["runs"][0]["status"] == "done"
    assert b"2 done" in place.run("show", "r", *journal).stdout
    assert place.run("export", "r", "--format", "jsonl", *journal).stdout.count(b"\n") == 2
    assert not list(place.path.rglob("*.db"))


def test_a_killed_run_is_resumed_at_once_by_another_process(server: Server, place: Place) -> None:
    journal = ("--journal", server.address)
    command = ("map", "--run", "r", "--cap", "1", *journal, "--", "echo", "{}")
    killed = place.process(*command, given=b"1\n2\n3\n", FANWISE_CRASH_AT="item.worked:2")
    assert killed.returncode == -signal.SIGKILL
    resumed = place.run("resume", "r", *journal)  # from "another host": it sees only the server
    assert (resumed.returncode, resumed.stdout) == (0, b"2\n3\n")
    shown = json.loads(place.run("show", "r", "--json", *journal).stdout)
    assert shown["status"] == "done"
    starts = server.query("SELECT starts FROM fanwise.items ORDER BY item_index")
    assert starts == [(1,), (2,), (1,)]  # the second may have run twice, and only that


def test_a_password_in_the_address_is_on_no_screen_and_in_no_table(
    server: Server, place: Place
) -> None:
    address = server.address.replace("fanwise@", "fanwise:geheim@")
    halted = place.run("map", "--run", "r", "--journal", address, "--halt", "failure",
                       "--", "false", given=b"1\n2\n")  # fmt: skip
    shown = place.run("show", "r", "--journal", address)
    assert b"fanwise resume r --journal" in halted.stderr
    tables = ("runs", "fan_outs", "items", "attempts", "events", "inputs")
    rows = [server.query(f"SELECT * FROM fanwise.{name}") for name in tables]
    seen = (halted.stdout, halted.stderr, shown.stdout, shown.stderr, rows)
    assert "geheim" not in repr(seen)


def test_the_views_show_the_same_rows_as_on_sqlite(server: Server, place: Place) -> None:
    (place.path / "m.yaml").write_text(MATRIX)
    for journal in (server.address, "here.db"):
        assert place.run("run", "m.yaml", "--run", "r", "--journal", journal).returncode == 0
    assert list(VIEWS) == list(SQLITE_VIEWS)
    for view in VIEWS:
        on_server, here = _on_server(server, view), _here(place.path / "here.db", view)
        assert set(on_server[0]) == set(here[0])
        for name in ("cell", "model", "strategy", "input", "repeat", "status", "scorer", "score",
                     "reason", "text", "calls", "item", "number", "part", "call"):  # fmt: skip
            if name in here[0]:
                assert [row[name] for row in on_server] == [row[name] for row in here], name


def _on_server(server: Server, view: str) -> list[dict[str, object]]:
    with psycopg.connect(server.address, row_factory=psycopg.rows.dict_row) as connection:
        return _sorted(connection.execute(f"SELECT * FROM fanwise.{view}").fetchall())


def _here(path: Path, view: str) -> list[dict[str, object]]:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return _sorted([dict(row) for row in connection.execute(f"SELECT * FROM {view}")])


def _sorted(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    names = ("cell", "item", "number", "scorer")
    return sorted(rows, key=lambda row: [str(row.get(name)) for name in names])
