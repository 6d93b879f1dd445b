"""What the journal knows of runs: `runs`, `show`, `export`, and other kinds of runs."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from fanwise import Usage, __version__, call, fan_out_sync, open_run
from fanwise.cli.app import run
from fanwise.journal.open import open_journal
from fanwise.kernel import meter
from tests.cli.support import Place, end, eventually, numbers, release

SCRIPT = "echo out {}; echo err {} >&2; [ {} != 2 ] || exit 3"


@pytest.fixture
def mapped(place: Place) -> Place:
    place.run("map", "--run", "r", "--", "sh", "-c", SCRIPT, given=numbers(3))
    return place


@pytest.mark.parametrize("left", ["nothing", "an empty file", "tables"])
def test_of_a_run_that_was_killed_before_its_first_row_every_command_says_the_same(
    place: Place, left: str
) -> None:
    journal = place.path / ".fanwise" / "journal.db"
    if left == "an empty file":
        journal.parent.mkdir()
        journal.touch()
    elif left == "tables":
        open_journal(journal).close()
    for command in ("show", "resume", "report", "export", "cancel"):
        done = place.run(command, "gone")
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"there is no run 'gone'" in done.stderr and b"start it again" in done.stderr
    runs = place.run("runs")
    assert runs.returncode == 0 and b"no runs yet" in runs.stderr
    assert place.run("map", "--run", "gone", "--", "echo", given=b"a\n").returncode == 0


def test_no_runs_yet_is_said_and_creates_nothing(place: Place) -> None:
    done = place.run("runs")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"no runs yet" in done.stderr
    assert json.loads(place.run("runs", "--json").stdout) == {"runs": []}
    assert list(place.path.iterdir()) == []


def test_runs_are_listed_newest_first_with_their_counts(mapped: Place) -> None:
    mapped.run("map", "--run", "s", "--", "true", given=b"")
    runs = json.loads(mapped.run("runs", "--json").stdout)["runs"]
    assert [run["id"] for run in runs] == ["s", "r"]
    assert [runs[1][name] for name in ("done", "failed", "total", "status")] == [2, 1, 3, "done"]
    table = mapped.run("runs").stdout.decode().splitlines()
    assert table[2].split()[0] == "r"
    assert table[0].split()[:4] == ["RUN", "KIND", "WHAT", "STATUS"]


def test_show_tells_what_failed_and_why(mapped: Place) -> None:
    text = mapped.run("show", "r", "--items").stdout.decode()
    assert "line 2 (2): the command exited with code 3: err 2" in text
    assert "2 done, 1 failed, of 3" in text
    detail = json.loads(mapped.run("show", "r", "--json").stdout)
    assert detail["spec"]["argv"] == ["sh", "-c", SCRIPT]
    assert [failure["input"] for failure in detail["failures"]] == ["2"]
    assert detail["fan_outs"][0]["stats"]["peak"]["total"] >= 1


def test_show_gives_no_marks_to_an_execution_that_ran_nothing(mapped: Place) -> None:
    assert b", efficiency " in mapped.run("show", "r").stdout
    assert mapped.run("resume", "r").returncode == 1
    (line,) = [
        each for each in mapped.run("show", "r").stdout.decode().splitlines() if "fan-out" in each
    ]
    assert line == "fan-out   lines: done, cap 10, nothing to run the last time"
    stats = json.loads(mapped.run("show", "r", "--json").stdout)["fan_outs"][0]["stats"]
    assert stats["efficiency"] is None


def test_show_tells_what_halted_a_run_apart_from_what_failed_behind_it(place: Place) -> None:
    gate = place.fifo("gate")
    script = "[ {} != 2 ] || { echo x >> two; cat gate; exit 1; }; [ {} = 1 ] || exit 3"
    process = place.start(
        "map", "--run", "r", "--cap", "2", "--halt", "failure", "--", "sh", "-c", script,
        given=numbers(3),
    )  # fmt: skip
    journal = place.path / ".fanwise" / "journal.db"
    eventually(lambda: place.lines("two") == ["x"] and counts(journal)["failed"] == 1)
    release(gate)
    end(process)
    detail = json.loads(place.run("show", "r", "--json").stdout)
    assert [failure["input"] for failure in detail["failures"]] == ["2"]
    assert [failure["input"] for failure in detail["failures_after_the_halt"]] == ["3"]
    text = place.run("show", "r").stdout.decode()
    assert "line 2 (2)" in text.partition("also failed, in flight after")[0]
    assert "line 3 (3)" in text.partition("also failed, in flight after")[2]


def counts(journal: Path) -> Counter[str]:
    """How many items of the first run have which status."""
    reading = open_journal(journal, read_only=True)
    try:
        return Counter(reading.counts(reading.fan_outs("r")[0].id))
    finally:
        reading.close()


def test_export_has_a_row_for_each_item_in_order(mapped: Place) -> None:
    rows = [json.loads(line) for line in mapped.run("export", "r").stdout.splitlines()]
    assert [row["input"] for row in rows] == ["1", "2", "3"]
    assert [row["exit_code"] for row in rows] == [0, 3, 0]
    assert [row["stdout"] for row in rows] == ["out 1\n", "out 2\n", "out 3\n"]
    mapped.run("export", "r", "--format", "csv", "--output", "r.csv")
    table = list(csv.DictReader(io.StringIO((mapped.path / "r.csv").read_text())))
    assert [row["stderr"] for row in table] == ["err 1\n", "err 2\n", "err 3\n"]
    assert all(float(row["ran_s"]) > 0 for row in table)


def test_a_run_of_a_program_is_shown_exported_and_resumed_by_that_program(place: Place) -> None:
    journal = place.path / ".fanwise" / "journal.db"
    with open_run("p", journal=journal) as made:
        fan_out_sync(lambda number: {"square": number * number}, [1, 2], run=made)
    rows = [json.loads(line) for line in place.run("export", "p").stdout.splitlines()]
    assert [row["value"] for row in rows] == [{"square": 1}, {"square": 4}]
    assert b"2 done, 0 failed, of 2" in place.run("show", "p").stdout
    refused = place.run("resume", "p")
    assert refused.returncode == 2
    assert b"open_run('p')" in refused.stderr


@pytest.fixture
def asked(place: Place) -> Place:
    """A run with calls: of item 1 the price is unknown, of item 2 all, item 3 made none."""
    journal = place.path / ".fanwise" / "journal.db"

    async def model(n: int) -> int:
        meter.first_token(0.0)
        return n

    def usage(n: int) -> Usage | None:
        usd = None if n == 1 else 0.25
        told = Usage(1, 12, usd, input_tokens=10, output_tokens=2, cached_tokens=4)
        return None if n == 2 else told

    async def item(n: int) -> int:
        return (
            n if n == 3 else await call(model, n, usage=usage) + await call(model, 0, usage=usage)
        )

    with open_run("a", journal=journal) as made:
        fan_out_sync(item, range(4), run=made)
    return place


def test_show_tells_what_calls_cost_and_how_many_are_unknown(asked: Place) -> None:
    text = asked.run("show", "a", "--items").stdout.decode()
    assert "calls     6 attempts\n" in text
    others = "unknown for 1 attempt, {} for the others"
    assert f"tokens    {others.format(60)}; in: {others.format(50)}; out: " in text
    assert "dollars   unknown for 2 attempts, 1 for the others\n" in text
    assert "answers   first token 0.000 s (median), 0.000 s (p95)\n" in text
    lines = text.partition("\nitems\n")[2].splitlines()
    assert lines[0].endswith("calls 2  tokens 20 in 4 out  dollars 0.5")
    assert lines[1].endswith("calls 2  tokens 20 in 4 out  dollars unknown")
    assert lines[2].endswith("calls 2  tokens ? in ? out  dollars unknown")
    assert "calls" not in lines[3]
    detail = json.loads(asked.run("show", "a", "--json").stdout)
    assert detail["calls"]["usd"] == {"total": None, "known": 1.0, "unknown": 2}
    assert detail["calls"]["attempts"] == 6


def test_export_tells_what_each_item_spent_on_calls(asked: Place) -> None:
    rows = [json.loads(line) for line in asked.run("export", "a").stdout.splitlines()]
    names = ("calls", "input_tokens", "output_tokens", "cached_tokens", "usd", "usd_unknown")
    assert [[row[name] for name in names] for row in rows] == [
        [2, 20, 4, 8, 0.5, 0], [2, 20, 4, 8, None, 1], [2, None, None, None, None, 1], [None] * 6,
    ]  # fmt: skip
    asked.run("export", "a", "--format", "csv", "--output", "a.csv")
    table = list(csv.DictReader(io.StringIO((asked.path / "a.csv").read_text())))
    assert [row["usd"] for row in table] == ["0.5", "", "", ""]
    assert [row["calls"] for row in table] == ["2", "2", "2", ""]


def test_a_run_without_calls_is_shown_without_them(mapped: Place) -> None:
    assert b"dollars" not in mapped.run("show", "r", "--items").stdout
    assert json.loads(mapped.run("show", "r", "--json").stdout)["calls"]["attempts"] == 0


def test_the_journal_may_be_elsewhere(place: Place) -> None:
    done = place.run("map", "--journal", "sub/j.db", "--run", "r", "--", "echo", given=b"a\n")
    assert done.stdout == b"a\n"
    assert b"r" in place.run("runs", FANWISE_JOURNAL="sub/j.db").stdout
    assert not (place.path / ".fanwise").exists()


def test_version_and_help(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.run("--version").stdout.decode() == f"fanwise {__version__}\n"
    for command in ("map", "run", "check", "runs", "show", "resume", "cancel", "export"):
        assert run([command, "--help"]) == 0
        assert f"fanwise {command}" in capsys.readouterr().out


MATRIX = """
matrix:
  name: m
  models: ["sim:quick?median_s=0.001"]
  inputs: [{id: a, text: x}, {id: b, text: y}]
  prompts: {two: {steps: [{name: first, prompt: "{{ input.text }}"}, {name: last, prompt: "?"}]}}
  score: [{name: any, regex: "."}]
"""


def test_a_matrix_is_counted_in_cells_when_it_has_ended_and_when_it_was_killed(
    place: Place,
) -> None:
    (place.path / "m.yaml").write_text(MATRIX)
    done = place.run("run", "m.yaml")
    assert done.returncode == 0, done.stderr
    assert b"cells     2 done, 0 failed, of 2\n" in place.run("show", "m").stdout
    detail = json.loads(place.run("show", "m", "--json").stdout)
    assert (detail["unit"], detail["total"], detail["item_counts"]) == ("cell", 2, {"done": 6})
    killed = place.run("run", "m.yaml", "--rerun", "all", FANWISE_CRASH_AT="item.recorded:4")
    assert killed.returncode != 0
    (run,) = json.loads(place.run("runs", "--json").stdout)["runs"]
    found = [run[name] for name in ("status", "unit", "failed", "total")]
    assert found == ["interrupted", "cell", 0, 2]
    assert run["done"] < 2, "it is what is there now, not what had been there before"


def test_a_clock_that_was_set_back_makes_no_negative_times(place: Place) -> None:
    place.run("map", "--run", "r", "--", "true", given=b"a\n")
    with closing(sqlite3.connect(place.path / ".fanwise" / "journal.db")) as connection:
        connection.execute("UPDATE runs SET created_at = ended_at + 3600")
        connection.commit()
    assert place.run("runs").stdout.decode().splitlines()[1].split()[-1] == "?"
    assert b", took ?\n" in place.run("show", "r").stdout
    assert json.loads(place.run("show", "r", "--json").stdout)["took_s"] is None
