"""SIGKILL at any moment: the next pool works, and after it nothing is left of either."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fanwise.workspaces import WorkspacePool
from tests.processes.support import eventually_now
from tests.workspaces.support import everything, make_repo
from tests.workspaces.test_pool import traces, with_filter

# Makes a pool, spoils and resets a workspace, and ends; or is killed at the given step: before
# each program that it starts, each folder that it makes and each file that it removes or writes.
PROGRAM = """
import os, signal, sys
from fanwise.workspaces import WorkspacePool

left = int(sys.argv[1])

def hook(event, args):
    global left
    if event in ("subprocess.Popen", "os.mkdir", "os.remove", "os.rmdir", "shutil.copyfile"):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

with WorkspacePool(".", slots=2, dirty=True, copy=["ignored.log"]) as pool:
    for _ in range(2):
        with pool.workspace() as one, pool.workspace() as two:
            two.write("a.txt", "spoilt")
            two.write("new/file.txt", "new")
print("ended")
"""
ARMED = PROGRAM.replace("with WorkspacePool", "sys.addaudithook(hook)\nwith WorkspacePool")


def check_that_all_is_well(repo: Path, cache: Path) -> None:
    with WorkspacePool(repo, slots=2) as pool:
        with pool.workspace() as one, pool.workspace() as two:
            one.write("a.txt", "spoilt")
            assert (two.root / "a.txt").read_text() == "a\n"
        with pool.workspace() as again:
            assert (again.root / "a.txt").read_text() == "a\n"
        assert len(list(cache.glob("*/*"))) == 1, "those of the dead are gone"
    assert traces(cache) == []


def test_killed_at_any_step_it_leaves_nothing_that_the_next_one_does_not_remove(
    repo: Path, cache: Path
) -> None:
    before = everything(repo)
    for step in range(1, 1000, 7):
        argv = [sys.executable, "-c", ARMED, str(step)]
        done = subprocess.run(argv, cwd=repo, stdout=subprocess.PIPE)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        check_that_all_is_well(repo, cache)
        assert everything(repo) == before, step
    assert step > 60, "so many steps are there"
    assert (done.stdout, traces(cache)) == (b"ended\n", [])


class Gate:
    """A repository in which git stops in the middle of a checkout, until it is let go."""

    def __init__(self, folder: Path) -> None:
        self.repo = make_repo(folder / "repo")
        self.fifo, self.here = folder / "fifo", folder / "here"
        os.mkfifo(self.fifo)
        armed = folder / "armed"
        with_filter(
            self.repo,
            f"if test -e '{armed}'; then touch '{self.here}'; cat '{self.fifo}'; fi; cat",
        )
        self.before = everything(self.repo)
        self.armed = armed

    def kill_in_the_middle(self, program: str) -> None:
        with subprocess.Popen([sys.executable, "-c", program], cwd=self.repo) as process:
            eventually_now(lambda: self.here.exists() or process.poll() is not None)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        self.armed.unlink()

    def let_go(self) -> None:
        self.fifo.write_bytes(b"")


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


def is_locked(path: Path) -> bool:
    lock = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def test_killed_while_git_makes_a_work_tree(gate: Gate, cache: Path) -> None:
    gate.armed.touch()
    gate.kill_in_the_middle(
        "from fanwise.workspaces import WorkspacePool\nWorkspacePool('.', slots=2).open()"
    )
    (alive,) = cache.glob("*/*/alive")
    assert is_locked(alive), "git goes on for a moment, and nobody removes the folder meanwhile"
    gate.let_go()
    eventually_now(lambda: not is_locked(alive))
    check_that_all_is_well(gate.repo, cache)
    assert everything(gate.repo) == gate.before


def test_killed_while_git_resets_a_work_tree(gate: Gate, cache: Path) -> None:
    gate.kill_in_the_middle(
        "from fanwise.workspaces import WorkspacePool\n"
        "pool = WorkspacePool('.', slots=1)\n"
        "pool.open()\n"
        "with pool.workspace() as ws: ws.write('x.dat', 'spoilt')\n"
        f"open({str(gate.armed)!r}, 'w').close()\n"
        "pool.take()"
    )
    (alive,) = cache.glob("*/*/alive")
    assert is_locked(alive)
    with WorkspacePool(gate.repo, slots=1) as pool, pool.workspace() as ws:
        assert alive.exists(), "git is still at it"
        assert (ws.root / "x.dat").read_text() == "data\n"
        gate.let_go()
        eventually_now(lambda: not is_locked(alive))
    assert (everything(gate.repo), traces(cache)) == (gate.before, [])


def test_pools_of_the_living_are_left_alone(repo: Path, cache: Path) -> None:
    with WorkspacePool(repo, slots=1) as one, one.workspace() as mine:
        mine.write("a.txt", "mine\n")
        with WorkspacePool(repo, slots=1) as two, two.workspace() as other:
            assert (other.root / "a.txt").read_text() == "a\n"
        assert (mine.root / "a.txt").read_text() == "mine\n"
        assert mine.changed_files() == ["a.txt"]
    assert traces(cache) == []


def test_many_processes_make_pools_of_one_repository_at_once(repo: Path, cache: Path) -> None:
    argv = [sys.executable, "-c", PROGRAM, "0"]
    started = [subprocess.Popen(argv, cwd=repo, stdout=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate()[0] for process in started] == [b"ended\n"] * 4
    assert traces(cache) == []
