"""`fanwise map` is a system like the others: files, check, run, resume, show, export, Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fanwise.errors import NotOk, UsageError
from fanwise.specs.run_file import run_file_sync
from tests.cli.support import Place, numbers

FILE = """
map:
  command: [sh, -c, "test {} != 2 || test -e mended && echo line {}"]
  input: lines.txt
  cap: 2
  halt: failure
"""


@pytest.fixture
def here(place: Place) -> Place:
    (place.path / "map.yaml").write_text(FILE)
    (place.path / "lines.txt").write_bytes(numbers(4))
    return place


def test_a_file_is_checked_run_and_resumed(here: Place) -> None:
    checked = here.run("check", "map.yaml")
    assert checked.returncode == 0, checked.stderr
    assert b"for     each line of" in checked.stdout
    (here.path / "mended").touch()
    done = here.run("run", "map.yaml", "--run", "r")
    assert (done.returncode, done.stdout) == (0, b"line 1\nline 2\nline 3\nline 4\n"), done.stderr
    (here.path / "lines.txt").unlink()
    again = here.run("resume", "r", "--retry-failed")
    assert (again.returncode, again.stdout) == (0, done.stdout)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (numbers(5), "line 5 of the input is new; the run had 4 lines"),
        (b"1\n2\nx\n4\n", "line 3 of the input is not what was recorded"),
        (numbers(2), "line 3 of the input is missing; the run had 4 lines"),
    ],
)
def test_an_input_that_was_edited_since_is_not_passed_over(
    here: Place, lines: bytes, problem: str
) -> None:
    (here.path / "mended").touch()
    assert here.run("run", "map.yaml", "--run", "r").returncode == 0
    same = here.run("run", "map.yaml", "--run", "r")
    assert (same.returncode, same.stdout) == (0, b""), same.stderr
    (here.path / "lines.txt").write_bytes(lines)
    for args in (["run", "map.yaml", "--run", "r"], ["resume", "r", "--input", "lines.txt"]):
        done = here.run(*args)
        assert (done.returncode, problem in done.stderr.decode()) == (2, True), done.stderr
    assert here.run("resume", "r").returncode == 0


def test_with_key_a_file_whose_input_was_edited_runs_what_is_new(here: Place) -> None:
    (here.path / "mended").touch()
    (here.path / "map.yaml").write_text(FILE + "  key: true\n")
    here.run("run", "map.yaml", "--run", "r")
    (here.path / "lines.txt").write_bytes(b"5\n1\n")
    again = here.run("run", "map.yaml", "--run", "r")
    assert (again.returncode, again.stdout) == (0, b"line 5\nline 1\n"), again.stderr


def test_runs_show_and_export_treat_it_as_any_system(here: Place) -> None:
    (here.path / "mended").touch()
    here.run("run", "map.yaml", "--run", "r")
    (run,) = json.loads(here.run("runs", "--json").stdout)["runs"]
    assert (run["kind"], run["unit"], run["done"], run["total"]) == ("map", "line", 4, 4)
    assert b"lines     4 done, 0 failed, of 4" in here.run("show", "r").stdout
    rows = [json.loads(row) for row in here.run("export", "r").stdout.splitlines()]
    assert [row["stdout"] for row in rows] == [f"line {n}\n" for n in range(1, 5)]
    refused = here.run("resume", "r", "--answer", "a=b")
    assert b"--answer is not an option of `map`; it belongs to `workflow`" in refused.stderr


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("lines.txt", "gone.txt", "map.yaml:4:10: map.input: there is no file gone.txt"),
        ("halt: failure", "halt: later", "--halt 'later' is not a rule"),
        ("cap: 2", "cap: 0", "--cap"),
        ("cap: 2", "jobs: 2", "map.jobs: is not known here"),
        ("[sh,", "[no-such-program,", "there is no program 'no-such-program'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    here: Place, before: str, after: str, problem: str
) -> None:
    (here.path / "map.yaml").write_text(FILE.replace(before, after))
    done = here.run("check", "map.yaml")
    assert (done.returncode, problem in done.stderr.decode()) == (2, True), done.stderr


def test_from_python_it_writes_nothing_to_stdout(
    here: Place, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(here.path)
    result = run_file_sync("map.yaml", run="p", journal="j.db")
    with pytest.raises(NotOk):
        result.require()
    assert (result.kind, result.status, result.failures[0]) == ("map", "halted", "1 failed:")
    assert capfd.readouterr().out == ""


def test_without_a_journal_it_is_refused(here: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here.path)
    with pytest.raises(UsageError, match="a map needs a run of its own in a journal"):
        run_file_sync("map.yaml")
    assert not Path(".fanwise").exists()
