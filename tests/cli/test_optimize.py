"""`fanwise optimize`, and `optimize:` files for run, check, show, report, export and resume."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from fanwise.cli.app import run
from tests.cli.support import Place, end, eventually
from tests.marks import slow
from tests.optimize.sleepy import make_sleepy, variant
from tests.optimize.support import unchanged
from tests.workspaces.support import commit, git, write

FILE = """\
optimize:
  name: faster
  repo: project
  candidates: {files: "candidates/*.py"}
  test: python run.py
  bench: {command: python bench.py, budget: 60s}
  slots: 2
  sandbox: false
  env: [LOG, AT]
  allow_repeated: true
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FANWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "workspaces"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the test, to be in: what is refused at once needs no process of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def project(place: Place) -> Path:
    write(place.path / "o.yaml", FILE)
    write(place.path / "candidates" / "fast.py", variant("fast"))
    write(place.path / "candidates" / "wrong.py", variant("wrong").replace("n + 1", "n + 2"))
    return make_sleepy(place.path / "project")


def test_a_file_is_checked_run_shown_reported_and_exported(place: Place, project: Path) -> None:
    checked = place.run("check", "o.yaml").stdout.decode()
    assert "2 candidates given, 2 of them apply" in checked
    assert "tested by: python run.py" in checked
    assert not (place.path / ".fanwise").exists()

    with unchanged(project):
        done = place.run("run", "o.yaml", "--run", "r")
    out = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert "candidates/fast.py" in out
    assert "the winner: candidates/fast.py" in out
    patch = out.partition("its patch: ")[2].splitlines()[0]
    assert (place.path / patch).read_text().startswith("diff --git")
    assert b"only its exit code is compared" in done.stderr

    shown = place.run("show", "r", "--items").stdout.decode()
    assert "candidates/wrong.py: rejected at test" in shown
    assert "calls " not in shown, "what ran in threads is no call"
    place.run("report", "r", "--output", "page.html")
    assert "candidates/wrong.py" in (place.path / "page.html").read_text()
    rows = [json.loads(line) for line in place.run("export", "r").stdout.splitlines()]
    assert [row["status"] for row in rows] == ["accepted", "rejected"]

    applied = place.run("resume", "r", "--apply", "--json")
    document = json.loads(applied.stdout)
    assert document["result"]["applied"] == ["src/pkg/slow.py"]
    assert git(project, "status", "--short") == "M src/pkg/slow.py"


def test_without_a_file_and_without_a_winner(place: Place, project: Path) -> None:
    (place.path / "candidates" / "fast.py").unlink()
    with unchanged(project):
        done = place.run(
            "optimize", "--candidates", "candidates/*.py", "--repo", "project",
            "--test", "python run.py", "--bench", "python bench.py", "--bench-budget", "1",
            "--slots", "1", "--no-sandbox", "--branch", "never", "--json",
        )  # fmt: skip
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert document["result"]["winner"] is None
    assert document["notes"][0] == "no candidate was proven faster", (
        "the reason of a workflow's step"
    )
    (verdict,) = document["result"]["candidates"]
    assert (verdict["status"], verdict["stage"]) == ("rejected", "test")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--test", "true"], "there are no calls to time"),
        (["a.py::f", "--test", "true"], "`candidates` has `files`, `branches` or `propose`"),
        (["nowhere.py::f", "--test", "true", "-c", "*.yaml"], "nowhere.py"),
        (["run.py::f", "--test", "true", "-c", "c/*", "--bench-call", "x"], "module:function"),
        (["--test", "true", "-c", "*", "--bench", "x", "--bench-call", "a:b"], "both given"),
        (["--test", "true", "-c", "*", "--bench", "x", "--repair", "1"], "candidates.propose"),
    ],
)
def test_what_cannot_work_is_told_at_once(
    project: Path, here: Path, capfd: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert run(["optimize", *words]) == 2
    assert says in capfd.readouterr().err
    assert not (here / ".fanwise").exists()


def test_a_branch_that_is_there_already_is_told_before_anything_runs(
    project: Path, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", "o.yaml", "--branch", "main"]) == 2
    assert "there is a branch 'main' already" in capfd.readouterr().err


def test_options_of_optimize_mean_nothing_to_others(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write(here / "s.yaml", "sample: {model: 'sim:m', prompt: Hi}\n")
    assert run(["run", "s.yaml", "--apply"]) == 2
    assert "--apply is not an option of `sample`" in capfd.readouterr().err


@slow
def test_ctrl_c_finishes_what_is_under_way_and_says_how_to_go_on(
    place: Place, project: Path, cache: Path
) -> None:
    fifo = place.fifo("at")
    text = (project / "run.py").read_text()
    write(project / "run.py", text + "\nif MARK == 'fast': open(os.environ['AT']).read()\n")
    commit(project)
    env = {**os.environ, "AT": str(fifo), "LOG": str(place.path / "log")}
    process = place.start("run", "o.yaml", "--run", "r", env=env)
    eventually(lambda: "test fast" in "\n".join(place.lines("log")))
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert b"Ctrl-C again cancels" in process.stderr.readline()
    fifo.write_text("go on")
    code, _, err = end(process)
    assert code == 130
    assert b"fanwise resume r" in err
    assert list(cache.rglob("*.index")) == []
    fifo.unlink()
    fifo.write_text("")
    done = place.run("resume", "r", AT=str(fifo), LOG=str(place.path / "log"))
    assert done.returncode == 0, done.stderr
    assert b"the winner: candidates/fast.py" in done.stdout
    assert sum("test fast" in line for line in place.lines("log")) == 1, "not again"


def test_what_is_not_as_it_should_be_is_a_line_for_the_person(place: Place) -> None:
    write(place.path / "plain" / "m.py", "def f(n):\n    return n + 1\n")
    write(place.path / "c" / "a.py", "def f(n):\n    return n + 2\n")
    done = place.run(
        "optimize", "m.py::f", "--repo", "plain", "-c", "c/*", "--slots", "1", "--bench", "true",
        "--bench-budget", "0.1", "--test", "python -c 'import m; m.f(1)'",
    )  # fmt: skip
    told = done.stderr.decode()
    assert "plain is not a git repository: the workspaces are copies" in told
    assert all(line.startswith("fanwise: ") for line in told.splitlines())
    assert "differential: f(1): it returns 3, the original returns 2" in done.stdout.decode()


WORKFLOW = """\
schema_version: "1.0"
workflow: {id: w, name: W, version: 1.0.0}
steps:
  - id: faster
    type: optimize
    spec:
      repo: project
      candidates: {files: "candidates/*.py"}
      test: python run.py
      bench: {command: python bench.py, budget: 60s}
      slots: 1
      sandbox: false
      allow_repeated: true
  - {id: say, type: shell, run: "echo the winner is {{ steps.faster.output.result.winner }}"}
"""


@slow
def test_a_step_of_a_workflow_may_be_one(place: Place, project: Path) -> None:
    write(place.path / "w.yaml", WORKFLOW)
    with unchanged(project):
        done = place.run("run", "w.yaml", "--json")
    assert done.returncode == 0, done.stderr
    assert "the winner is " in done.stdout.decode()
    assert "the winner is null" not in done.stdout.decode()
