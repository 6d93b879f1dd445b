"""`fanwise run`, `check` and `resume` with a real system, installed as any package would be."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import Place, end, eventually, release

SYSTEM = Path(__file__).with_name("count")
FILE = """\
count:
  words: [a, bb, ccc, dddd]
  caps: {hands: 3}
  rates: {other: {rpm: 100}}
  budget: {usd: 5}
"""


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(SYSTEM))


@pytest.fixture
def counting(place: Place) -> Place:
    (place.path / "f.yaml").write_text(FILE)
    return place


def run_of(place: Place, run_id: str = "r") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place.run("show", run_id, "--json").stdout)
    return found


def test_a_file_is_run_by_its_system_and_recorded(counting: Place) -> None:
    done = counting.run("run", "f.yaml", "--run", "r")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"a 1\nbb 2\nccc 3\ndddd 4\n"
    (row,) = json.loads(counting.run("runs", "--json").stdout)["runs"]
    wanted = {"kind": "count", "name": "4 words", "status": "done", "done": 4, "total": 4}
    assert {name: row[name] for name in wanted} == wanted
    assert run_of(counting)["spec"]["folder"] == str(counting.path)


def test_with_json_there_is_one_document_and_nothing_else(counting: Place) -> None:
    (counting.path / "fail-bb").touch()
    done = counting.run("run", "f.yaml", "--run", "r", "--json")
    assert (done.returncode, done.stderr) == (1, b"")
    assert json.loads(done.stdout) == {
        "run": "r",
        "kind": "count",
        "status": "done",
        "exit_code": 1,
        "halted": None,
        "counts": None,
        "notes": ["1 failed"],
        "result": {"counts": {"a": 1, "ccc": 3, "dddd": 4}},
    }


def test_what_failed_runs_again_with_retry_failed_and_nothing_else(counting: Place) -> None:
    (counting.path / "fail-bb").touch()
    done = counting.run("run", "f.yaml", "--run", "r")
    assert (done.returncode, done.stderr) == (1, b"fanwise: 1 failed\n")
    (counting.path / "fail-bb").unlink()
    assert counting.run("resume", "r").returncode == 1
    again = counting.run("resume", "r", "--retry-failed")
    assert (again.returncode, again.stdout) == (0, b"a 1\nbb 2\nccc 3\ndddd 4\n")
    assert sorted(counting.lines("started")) == ["a", "bb", "bb", "ccc", "dddd"]


def test_a_killed_run_is_resumed_although_its_file_is_gone(counting: Place) -> None:
    started = "f.yaml", "--run", "r"
    killed = counting.run("run", *started, FANWISE_CRASH_AT="item.recorded:5")
    assert killed.returncode == -signal.SIGKILL
    before = run_of(counting)
    assert (before["status"], before["total"]) == ("interrupted", 4)
    assert 0 < before["done"] < 4
    (counting.path / "f.yaml").unlink()
    done = counting.run("resume", "r")
    assert (done.returncode, done.stdout) == (0, b"a 1\nbb 2\nccc 3\ndddd 4\n")
    assert set(counting.lines("started")) == {"a", "bb", "ccc", "dddd"}
    after = run_of(counting)
    assert (after["status"], after["done"]) == ("done", 4)
    # Twice at most what had been in flight: a word that was done did not run again.
    assert len(counting.lines("started")) <= 4 + 2


def test_the_same_file_goes_on_with_a_run_and_another_is_refused(counting: Place) -> None:
    (counting.path / "fail-bb").touch()
    assert counting.run("run", "f.yaml", "--run", "r").returncode == 1
    same = counting.run("run", "f.yaml", "--run", "r")
    assert (same.returncode, same.stdout) == (1, b"a 1\nccc 3\ndddd 4\n")
    assert len(counting.lines("started")) == 4
    (counting.path / "f.yaml").write_text(FILE.replace("dddd", "eeee"))
    other = counting.run("run", "f.yaml", "--run", "r")
    assert other.returncode == 2
    assert b"run 'r' was started with a different spec" in other.stderr
    assert len(counting.lines("started")) == 4


def start_blocked(place: Place) -> subprocess.Popen[bytes]:
    """Two of four words are in flight, and wait at their gates."""
    place.fifo("gate-a")
    place.fifo("gate-bb")
    process = place.start("run", "f.yaml", "--run", "r")
    eventually(lambda: len(place.lines("started")) == 2)
    return process


def said(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stderr is not None
    return process.stderr.readline()


def test_ctrl_c_finishes_what_is_in_flight_and_tells_how_to_go_on(counting: Place) -> None:
    process = start_blocked(counting)
    process.send_signal(signal.SIGINT)
    assert said(process) == b"fanwise: finishing 2 in flight; Ctrl-C again cancels\n"
    release(counting.path / "gate-a")
    release(counting.path / "gate-bb")
    code, out, err = end(process)
    assert (code, out) == (130, b"a 1\nbb 2\n")
    assert err == b"fanwise: halted; to continue: fanwise resume r\n"
    resumed = counting.run("resume", "r")
    assert (resumed.returncode, resumed.stdout) == (0, b"a 1\nbb 2\nccc 3\ndddd 4\n")
    assert sorted(counting.lines("started")) == ["a", "bb", "ccc", "dddd"]


def test_ctrl_c_twice_ends_what_is_in_flight(counting: Place) -> None:
    process = start_blocked(counting)
    process.send_signal(signal.SIGINT)
    assert b"finishing 2 in flight" in said(process)
    process.send_signal(signal.SIGINT)
    code, out, err = end(process)
    assert (code, out) == (130, b"")
    assert b"to continue: fanwise resume r" in err
    (counting.path / "open").touch()
    assert counting.run("resume", "r").returncode == 0


def test_a_pause_is_told_by_its_exit_code_and_how_to_go_on(counting: Place) -> None:
    (counting.path / "f.yaml").write_text("count: {words: [a], pause: true}")
    done = counting.run("run", "f.yaml", "--run", "r", "--journal", "j.db")
    assert done.returncode == 3
    assert done.stderr == b"fanwise: paused; to continue: fanwise resume r --journal j.db\n"


def test_an_error_of_the_system_names_the_run_to_go_on_with(counting: Place) -> None:
    (counting.path / "f.yaml").write_text("count: {words: [a], stumble: true}")
    done = counting.run("run", "f.yaml", "--run", "r")
    assert done.returncode == 2
    wanted = b"fanwise: this system stumbles\n  Mend it\n  to continue: fanwise resume r\n"
    assert done.stderr == wanted
    assert run_of(counting)["status"] == "failed"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("count:\n  wrods: [a]\n  words: [a]", "f.yaml:2:3: count.wrods: is not known here; did "
         "you mean `words`?"),
        ("counts: {}", "f.yaml:1:1: counts: is not known here; did you mean `count`?"),
        ("count: {}\nmatrix: {}", "f.yaml:2:1: matrix: a file is for one system, and `count` "
         "stands there too"),
        ("count: [", "f.yaml:1:9: this is not YAML: "),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["run", "check"])
def test_a_bad_file_is_refused_with_its_place_and_nothing_is_written(
    counting: Place, command: str, text: str, message: str
) -> None:
    (counting.path / "f.yaml").write_text(text)
    done = counting.run(command, "f.yaml")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"fanwise: {message}")
    assert [path.name for path in counting.path.iterdir()] == ["f.yaml"]


def test_a_bad_file_as_json_has_its_problems_one_by_one(counting: Place) -> None:
    (counting.path / "f.yaml").write_text("count:\n  words: a\n  cpa: 3\n")
    done = counting.run("run", "f.yaml", "--json")
    assert (done.returncode, done.stderr) == (2, b"")
    error = json.loads(done.stdout)["error"]
    assert (error["type"], error["file"]) == ("BadSpec", "f.yaml")
    assert error["problems"] == [
        {"line": 2, "column": 10, "field": "count.words", "message": "must be a list, not 'a'"},
        {"line": 3, "column": 3, "field": "count.cpa",
         "message": "is not known here; did you mean `cap`?"},
    ]  # fmt: skip
    gone = counting.run("run", "none.yaml")
    assert gone.stderr == b"fanwise: none.yaml: cannot be read: No such file or directory\n"


def test_check_says_what_would_run_and_does_nothing(counting: Place) -> None:
    done = counting.run("check", "f.yaml")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines() == [
        "f.yaml: count, 4 words",
        "  items   4",
        "  caps    hands 3, other rate",
        "  budget  5 usd",
        "  words   a, bb, ccc, dddd",
    ]
    document = json.loads(counting.run("check", "f.yaml", "--json").stdout)
    assert (document["kind"], document["items"]) == ("count", 4)
    assert document["describe"] == ["words   a, bb, ccc, dddd"]
    assert [path.name for path in counting.path.iterdir()] == ["f.yaml"]


def test_input_is_only_for_systems_that_declare_it(counting: Place) -> None:
    counting.run("run", "f.yaml", "--run", "r")
    refused = counting.run("resume", "r", "--input", "lines.txt")
    assert refused.returncode == 2
    assert b"--input is not an option of `count`; it belongs to" in refused.stderr
