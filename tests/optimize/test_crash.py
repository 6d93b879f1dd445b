"""kill -9 in every stage, then `fanwise resume`: nothing that had ended is repeated, nothing stays.

The programs of the project wait at a fifo that is named for the stage, so that the kill comes when
that stage is on the way, with a process of its own.
"""

from __future__ import annotations

import json
import os
import sqlite3
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.support import Place, eventually
from tests.marks import slow
from tests.optimize.sleepy import log_of, make_sleepy, variant
from tests.optimize.support import code, unchanged
from tests.workspaces.support import git, write

WAIT = code("""
    import os

    if MARK == os.environ.get("WHO") and os.path.exists(os.environ["AT"]):
        with open(os.environ["PIDS"], "a") as file:
            print(os.getpid(), file=file, flush=True)
        open(os.environ["AT"]).read()
""")
FILE = """\
optimize:
  repo: project
  target: src/pkg/slow.py::work
  candidates: {files: "candidates/*.py"}
  test: python run.py
  bench: {command: python bench.py, budget: 60s}
  accept: {speedup: 4}
  slots: 2
  sandbox: false
  env: [LOG, WHO, AT, PIDS]
"""
IN_THE_CALLS = """
import sys

if any(word.endswith("injected/start.py") for word in sys.orig_argv):
"""
STAGES = {
    "test": ("run.py", "original"),
    "check": ("run.py", "fast"),
    "differential": ("the candidate", "fast"),
    "benchmark": ("bench.py", "fast"),
}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    yield found
    found.clean_up()


def project(folder: Path, program: str) -> Path:
    """Whose program stops at the fifo, if it is told to."""
    repo = make_sleepy(folder / "project")
    slow = repo / "src" / "pkg" / "slow.py"  # its calls are made hundreds of times
    write(slow, slow.read_text().replace("SECONDS = 0.1", "SECONDS = 0"))
    fast = variant("fast")
    if program == "the candidate":  # only while its calls are compared, not in its tests
        fast += IN_THE_CALLS + textwrap.indent(WAIT, "    ")
    else:
        text = (repo / program).read_text()
        write(repo / program, text.replace("assert work", f"{WAIT}\nassert work"))
    git(repo, "commit", "-qam", "waits")
    write(folder / "candidates" / "fast.py", fast)
    write(folder / "candidates" / "worse.py", variant("worse").replace("n + 1", "n + 2"))
    write(folder / "o.yaml", FILE)
    return repo


def ended(folder: Path) -> dict[tuple[int, str], float]:
    """All items that are done, by fan-out and key, with when they ended."""
    with closing(sqlite3.connect(folder / ".fanwise" / "journal.db")) as journal:
        rows = journal.execute(
            "SELECT fan_out, key, ended_at FROM items WHERE status = 'done'"
        ).fetchall()
    return {(fan_out, key): at for fan_out, key, at in rows}


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


@slow
@pytest.mark.parametrize("stage", STAGES)
def test_killed_in_a_stage_it_goes_on_there(place: Place, cache: Path, stage: str) -> None:
    program, who = STAGES[stage]
    repo = project(place.path, program)
    fifo, pids = place.fifo("at"), place.path / "pids"
    env = {**os.environ, "LOG": str(place.path / "log"), "PIDS": str(pids)}
    with unchanged(repo):
        process = place.start(
            "run", "o.yaml", "--run", "r", env={**env, "WHO": who, "AT": str(fifo)}
        )
        eventually(lambda: pids.exists() and pids.read_text().endswith("\n"))
        process.kill()
        process.wait()
        (pid,) = map(int, pids.read_text().split())
        eventually(lambda: not is_alive(pid))
        before = ended(place.path)
        fifo.unlink()
        tested = log_of(place.path, "test")
        done = place.run("resume", "r", "--json", given=b"", **env)
    found = json.loads(done.stdout)
    reached = [each["stage"] for each in found["result"]["candidates"]]
    assert reached == ["benchmark", "test"]
    after = ended(place.path)
    assert {key: after.get(key) for key in before} == before, "what had ended was not done again"
    if stage == "benchmark":
        assert log_of(place.path, "test") == tested, "no test ran again"
    if stage == "differential":  # beside it the other one may have been at its tests
        again = [mark for mark, _ in log_of(place.path, "test")[len(tested) :]]
        assert who not in again, "its own tests did not run again"
    assert sorted(path.name for path in cache.rglob("*") if path.is_file()) == []
    assert git(repo, "worktree", "list").count("\n") == 0


POINTS = ("run.created", "item.started:2", "item.recorded:3", "item.worked:4", "item.recorded:2")


@slow
def test_killed_again_and_again_between_the_stages_it_comes_to_the_same(
    place: Place, cache: Path
) -> None:
    repo = project(place.path, "run.py")
    env = {"LOG": str(place.path / "log")}
    words: tuple[str, ...] = ("run", "o.yaml", "--run", "r")
    before: dict[tuple[int, str], float] = {}
    with unchanged(repo):
        for point in POINTS:
            killed = place.run(*words, given=b"", **env, FANWISE_CRASH_AT=point)
            assert killed.returncode == -9, (point, killed.stderr)
            known = ended(place.path)
            assert {key: known.get(key) for key in before} == before, point
            before, words = known, ("resume", "r")
        done = place.run(*words, "--json", given=b"", **env)
    found = json.loads(done.stdout)["result"]
    assert [each["stage"] for each in found["candidates"]] == ["benchmark", "test"]
    known = ended(place.path)
    assert {key: known.get(key) for key in before} == before
    assert len([key for _, key in known if key.startswith("verdict:")]) == 2
    assert sorted(path.name for path in cache.rglob("*") if path.is_file()) == []
