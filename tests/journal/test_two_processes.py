"""One journal, several processes."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from sqlite3 import Connection

import pytest

from fanwise.errors import JournalNotWritable
from fanwise.journal import runs
from fanwise.journal.owner import current_owner
from fanwise.journal.port import ItemStartWrite, Owner
from fanwise.journal.sqlite import SqliteJournal
from tests.journal.conftest import Child, a_run, write

ROOT = str(Path(__file__).parents[2])
DEAD = Owner(pid=2**22 + 1, host=os.uname().nodename, boot="", started="")

CLAIM = """
    import sys
    from pathlib import Path
    from fanwise.errors import RunIsLive
    from fanwise.journal.owner import current_owner
    from fanwise.journal.sqlite import SqliteJournal
    journal = SqliteJournal(Path(sys.argv[1]))
    print("ready", flush=True)
    for run_id in sys.stdin:
        try:
            journal.claim_run(run_id.strip(), current_owner())
            print("won", flush=True)
        except RunIsLive:
            print("lost", flush=True)
    journal.close()
"""


def ask(claimers: list[subprocess.Popen[str]], run_id: str) -> list[str]:
    """Let all of them claim the run at the same moment."""
    for claimer in claimers:
        assert claimer.stdin is not None
        claimer.stdin.write(f"{run_id}\n")
        claimer.stdin.flush()
    return [claimer.stdout.readline() for claimer in claimers if claimer.stdout is not None]


def test_of_two_processes_that_claim_a_run_at_once_exactly_one_wins(
    tmp_path: Path, child: Child
) -> None:
    journal = SqliteJournal(tmp_path / "j.db")
    run_ids = [f"r{n}" for n in range(40)]
    for run_id in run_ids:
        journal.create_run(a_run(run_id, owner=DEAD))
    claimers = [child(CLAIM, tmp_path / "j.db", PYTHONPATH=ROOT) for _ in range(2)]
    for claimer in claimers:
        assert claimer.stdout is not None
        assert claimer.stdout.readline() == "ready\n"
    for run_id in run_ids:
        assert sorted(ask(claimers, run_id)) == ["lost\n", "won\n"]
    journal.close()


def test_while_a_claim_looks_at_a_run_nobody_else_can_claim_it(tmp_path: Path) -> None:
    one, other = (SqliteJournal(tmp_path / "j.db", patience=0.01) for _ in range(2))
    one.create_run(a_run(owner=DEAD))

    def look(connection: Connection) -> None:
        assert runs.get(connection, "r").owner == DEAD
        with pytest.raises(JournalNotWritable, match="locked"):
            other.claim_run("r", current_owner())

    one._writer.call(look)
    assert one.claim_run("r", current_owner()).owner == current_owner()
    one.close()
    other.close()


def test_a_cancel_request_reaches_a_process_that_watches(tmp_path: Path, child: Child) -> None:
    journal = SqliteJournal(tmp_path / "j.db")
    journal.create_run(a_run())
    watcher = child(
        """
        import sys, threading
        from pathlib import Path
        from fanwise.journal.sqlite import SqliteJournal
        journal = SqliteJournal(Path(sys.argv[1]))
        cancelled = threading.Event()
        journal.watch_cancel("r", cancelled.set)
        print("watching", flush=True)
        cancelled.wait()
        print("cancelled", flush=True)
        """,
        tmp_path / "j.db",
        PYTHONPATH=ROOT,
    )
    assert watcher.stdout is not None
    assert watcher.stdout.readline() == "watching\n"
    journal.request_cancel("r")
    assert watcher.stdout.readline() == "cancelled\n"
    assert watcher.wait(60) == 0
    journal.close()


def test_a_cancel_request_from_another_process_arrives_while_this_one_writes(
    tmp_path: Path, child: Child
) -> None:
    journal = SqliteJournal(tmp_path / "j.db")
    journal.create_run(a_run())
    cancelled = threading.Event()
    journal.watch_cancel("r", cancelled.set)
    asker = child(
        """
        import sys
        from fanwise.journal.open import open_journal
        journal = open_journal(sys.argv[1])
        journal.request_cancel("r")
        journal.close()
        """,
        tmp_path / "j.db",
        PYTHONPATH=ROOT,
    )
    n = 0
    while not cancelled.is_set():
        write(journal, ItemStartWrite(1, str(n), n, 1.0))
        n += 1
    assert asker.wait(60) == 0
    assert len(list(journal.items(1))) == n
    journal.close()
