"""How long a workspace takes: to be as new for the next use, and to be made, whole and sparse.

A repository of 1,000 files in 100 folders; in each use, five files are changed and five are new,
and a folder of compiled files is left behind. Beside it: what making a work tree anew would take.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.harness import Row
from fanwise.workspaces import WorkspacePool

FOLDERS, EACH = 100, 10
USES = 30
ROUNDS = 5
TURNAROUND_S = 0.1
SPARSE_S = 0.3


def measure() -> list[Row]:
    """Turnaround, and creation."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FANWISE_CACHE"] = str(Path(folder) / "cache")
        repo = _repository(Path(folder) / "repo")
        anew = median(_timed(lambda: _add_and_remove(repo)) for _ in range(ROUNDS))
        turnaround = _turnaround(repo)
        whole = median(_made(repo, ()) for _ in range(ROUNDS))
        sparse = median(_made(repo, ("part7", "part8")) for _ in range(ROUNDS))
    return [
        _row("turnaround of a slot, 1,000 files", turnaround, "made anew", anew, TURNAROUND_S),
        _row("a pool of one, 2 folders of 100", sparse, "all of it", whole, SPARSE_S),
    ]


def _row(what: str, took: float, than: str, other: float, bound: float) -> Row:
    return Row(
        f"workspaces: {what}",
        f"{took * 1000:.0f} ms",
        f"{than} {other * 1000:.0f} ms",
        took / other,
        f"<= {bound * 1000:.0f} ms",
        took <= bound,
    )


def _repository(repo: Path) -> Path:
    for folder in range(FOLDERS):
        (repo / f"part{folder}").mkdir(parents=True)
        for file in range(EACH):
            text = f"# {folder} {file}\n" + "value = 1\n" * 200
            (repo / f"part{folder}" / f"file{file}.py").write_text(text)
    (repo / ".gitignore").write_text("__pycache__/\n")
    _git(repo, "init", "-q")
    _git(repo, "add", "-A")
    _git(repo, "-c", "user.name=b", "-c", "user.email=b@example.org", "commit", "-qm", "all")
    return repo


def _turnaround(repo: Path) -> float:
    times = []
    with WorkspacePool(repo, slots=1) as pool:
        for use in range(USES):
            began = time.perf_counter()
            with pool.workspace() as workspace:
                times.append(time.perf_counter() - began)
                for number in range(5):
                    part = f"part{(use * 5 + number) % FOLDERS}"
                    workspace.write(f"{part}/file1.py", f"changed = {use}\n")
                    workspace.write(f"{part}/new.py", "new = 1\n")
                    workspace.write(f"{part}/__pycache__/file1.pyc", bytes(1000))
    return median(times[1:])  # the first use of a slot needs no reset


def _made(repo: Path, sparse: tuple[str, ...]) -> float:
    pool = WorkspacePool(repo, slots=1, sparse=sparse)
    took = _timed(pool.open)
    pool.close()
    return took


def _add_and_remove(repo: Path) -> None:
    _git(repo, "worktree", "add", "-q", "--detach", str(repo.with_name("tree")))
    _git(repo, "worktree", "remove", "--force", str(repo.with_name("tree")))


def _timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _git(repo: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=repo, check=True, capture_output=True)
