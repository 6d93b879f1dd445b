"""What the tests of child processes share: waiting for facts, and looking at real processes."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from fanwise.processes import sandbox

T = TypeVar("T")
DEADLINE_S = 300.0


class JumpingLoop(asyncio.SelectorEventLoop):
    """A loop whose clock a test sets forward, so that no test waits for a time-out."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead

    def jump(self, seconds: float) -> None:
        self.ahead += seconds


def run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=JumpingLoop, debug=True) as runner:
        runner.get_loop().slow_callback_duration = 1e9  # a jump of the clock is not slowness
        logged: list[dict[str, Any]] = []
        runner.get_loop().set_exception_handler(lambda _, context: logged.append(context))
        value = runner.run(work)
        assert logged == [], "an exception that nobody was told of"
        return value


def jump(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, JumpingLoop)
    loop.jump(seconds)


async def eventually(fact: Callable[[], bool]) -> None:
    until = time.monotonic() + DEADLINE_S
    while not fact():
        assert time.monotonic() < until, "it did not come about"
        await asyncio.sleep(0.002)


async def timed_out(work: Coroutine[Any, Any, T], seconds: float, *begun: Callable[[], bool]) -> T:
    """Set the clock forward by the time-out as soon as each of these facts is true.

    So what is cut off has begun, however busy the machine is, and nobody waits.
    """
    task = asyncio.ensure_future(work)
    for fact in begun:
        await eventually(lambda fact=fact: fact() or task.done())  # type: ignore[misc]
        jump(seconds)
    return await task


def eventually_now(fact: Callable[[], bool]) -> None:
    until = time.monotonic() + DEADLINE_S
    while not fact():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.002)


def state(pid: int) -> str:
    """The state of a process as /proc has it, or nothing if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def alive(pid: int) -> bool:
    return state(pid) not in ("", "Z", "X")


def pids_in(file: Path) -> list[int]:
    """The process numbers that a script has written, a line each; complete lines only."""
    if not file.exists():
        return []
    return [int(line) for line in file.read_text().rpartition("\n")[0].split()]


def children() -> dict[int, str]:
    """The children of this process with their states, the guard left out."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "stat").read_text()
            program = (entry / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = line.rpartition(")")[2].split()
        if int(fields[1]) == os.getpid() and b"guard" not in program:
            found[int(entry.name)] = fields[0]
    return found


def open_files() -> dict[str, str]:
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found[entry.name] = str(entry.readlink())
        except FileNotFoundError:
            continue
    return found


@contextmanager
def without_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """As on a machine where bubblewrap is of no use, for this process and for its children."""
    made = tempfile.TemporaryDirectory()
    folder = Path(made.name)
    folder.chmod(0o755)
    broken = folder / "bwrap"
    broken.write_text("#!/bin/sh\necho 'No permissions to create a new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    sandbox._usable.cache_clear()
    with made:
        yield folder
    sandbox._usable.cache_clear()


@contextmanager
def without_any_sandbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a machine whose kernel refuses namespaces too."""
    with without_bubblewrap(monkeypatch) as folder:
        refused = folder / "refused.py"
        refused.write_text("import sys; sys.exit('no sandbox: unshare: Operation not permitted')")
        monkeypatch.setattr(sandbox, "_PROGRAM", str(refused))
        yield


@pytest.fixture(params=["bubblewrap", "namespaces"])
def box(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each kind of sandbox that there is here."""
    with ExitStack() as around:
        if request.param == "namespaces":
            around.enter_context(without_bubblewrap(monkeypatch))
        found = sandbox._usable()
        if isinstance(found, str) or found.__name__ != f"_{request.param}":
            pytest.skip(f"no {request.param} here: {found}")
        yield request.param


@pytest.fixture
def no_box(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No kind of sandbox."""
    with without_any_sandbox(monkeypatch):
        yield
