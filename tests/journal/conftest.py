"""The journals that the contract is tested with, and other processes to test against."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fanwise.journal.port import Journal, Owner, RunRecord, Write
from fanwise.journal.sqlite import SqliteJournal
from fanwise.testing.memory_journal import MemoryJournal

FAR_AWAY = Owner(pid=1, host="a-host-that-is-not-this-one", boot="b", started="s")


@pytest.fixture(params=["sqlite", "memory", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    journal: Journal
    if request.param == "sqlite":
        journal = SqliteJournal(tmp_path / "journal.db")
    elif request.param == "memory":
        journal = MemoryJournal()
    else:
        from fanwise.journal.postgres.journal import PostgresJournal

        journal = PostgresJournal(request.getfixturevalue("postgres").address)
    yield journal
    journal.close()


def a_run(run_id: str = "r", *, owner: Owner | None = None) -> RunRecord:
    return RunRecord(
        id=run_id,
        number=0,
        kind="map",
        name="n",
        spec="{}",
        digest=hashlib.sha256(b"{}").hexdigest(),
        status="running",
        created_at=1.0,
        owner=owner,
    )


def write(journal: Journal, *writes: Write) -> None:
    """Submit, and wait until all of it is on disk; raises the first error."""
    errors: list[BaseException | None] = []
    all_told = threading.Event()

    def then(error: BaseException | None) -> None:
        errors.append(error)
        if len(errors) == len(writes):
            all_told.set()

    for each in writes:
        journal.submit(each, then)
    assert all_told.wait(60)
    for error in errors:
        if error is not None:
            raise error


def is_open(path: Path) -> bool:
    """Does this process hold the file open?"""
    return any(_target(link) == path for link in Path("/proc/self/fd").iterdir())


def _target(link: Path) -> Path | None:
    try:
        return link.readlink()
    except FileNotFoundError:  # that of the directory which is being read
        return None


Child = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def child() -> Iterator[Child]:
    """Start Python code in a process of its own, with pipes; it is killed after the test."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *args: object, **env: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": "/usr/bin:/bin", **env},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
