"""What only the journal on disk can get wrong: its settings, a full disk, being forgotten."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fanwise.errors import JournalNotWritable
from fanwise.journal.port import EventRecord, ItemEndWrite, ItemStartWrite, Journal
from fanwise.journal.sqlite import SqliteJournal
from fanwise.journal.writer import _Stop
from tests.journal.conftest import Child, a_run, is_open, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "j.db"


@pytest.fixture
def on_disk(path: Path) -> Iterator[SqliteJournal]:
    journal = SqliteJournal(path)
    yield journal
    journal.close()


def start(n: int, size: int = 1) -> ItemStartWrite:
    return ItemStartWrite(1, str(n) * size, n, 1.0)


def test_every_connection_syncs_each_commit_to_a_write_ahead_log(on_disk: SqliteJournal) -> None:
    def settings(connection: sqlite3.Connection) -> list[object]:
        names = ("journal_mode", "synchronous")
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    full = 2
    assert on_disk._writer.call(settings) == ["wal", full]
    with on_disk._source.reading() as connection:
        assert settings(connection) == ["wal", full]


def test_an_iterator_that_outlives_the_journal_lets_go_of_the_file(path: Path) -> None:
    journal = SqliteJournal(path)
    write(journal, start(1), start(2))
    items = journal.items(1)
    assert next(items).index == 1
    journal.close()
    assert is_open(path)
    items.close()  # type: ignore[attr-defined]
    assert not is_open(path)


def test_values_can_be_asked_for_with_sql(on_disk: SqliteJournal, path: Path) -> None:
    write(on_disk, ItemEndWrite(1, "k", 0, "done", 1.0, value='{"score": 7}'))
    with closing(sqlite3.connect(path)) as other:
        rows = other.execute("SELECT json_extract(value, '$.score') FROM items").fetchall()
    assert rows == [(7,)]


def test_what_is_queued_while_the_disk_is_busy_is_one_commit(
    on_disk: SqliteJournal, path: Path
) -> None:
    in_the_callback, go_on = threading.Event(), threading.Event()

    def block(error: BaseException | None) -> None:
        in_the_callback.set()
        assert go_on.wait(60)

    other = sqlite3.connect(path, check_same_thread=False)
    commits: list[int] = []

    def note(error: BaseException | None) -> None:
        commits.append(other.execute("PRAGMA data_version").fetchone()[0])

    on_disk.submit(start(0), block)
    assert in_the_callback.wait(60)
    for n in range(1, 1000):
        on_disk.submit(start(n), note)
    go_on.set()
    write(on_disk, start(1000))
    other.close()
    assert len(commits) == 999
    assert len(set(commits)) == 1


def fail_to_write(journal: Journal) -> list[BaseException | None]:
    """Write until it fails, then some more; what was told of each write."""
    told: list[BaseException | None] = []
    for n in range(3000):
        journal.submit(start(n, 200), told.append)
        if n % 100 == 0:
            try:
                write(journal, EventRecord("r", 1.0, "k", "{}"))
            except JournalNotWritable:
                if told[-1] is not None and n > 2000:
                    break
    return told


def check_failed_for_good(told: list[BaseException | None], journal: Journal) -> None:
    failures = [error for error in told if error is not None]
    assert failures
    assert failures[0] is not None
    assert isinstance(failures[0], JournalNotWritable)
    assert all(error is failures[0] for error in failures), "the same error for all that follows"
    safe = told.index(failures[0])
    assert told == [None] * safe + failures, "nothing is written after something that was not"
    assert [item.index for item in journal.items(1)] == list(range(safe))
    with pytest.raises(JournalNotWritable):
        journal.create_run(a_run("later"))


def test_a_full_database_fails_for_good_and_keeps_what_was_acknowledged(
    on_disk: SqliteJournal,
) -> None:
    on_disk._writer.call(lambda c: c.execute("PRAGMA max_page_count = 60").fetchone())
    told = fail_to_write(on_disk)
    check_failed_for_good(told, on_disk)
    assert "full" in str(told[-1])


def test_a_full_disk_fails_for_good_and_keeps_what_was_acknowledged(
    path: Path, child: Child
) -> None:
    code = """
        import resource, signal, sys
        from pathlib import Path
        from fanwise.journal.sqlite import SqliteJournal
        from tests.journal.test_sqlite import check_failed_for_good, fail_to_write
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        journal = SqliteJournal(Path(sys.argv[1]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        told = fail_to_write(journal)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        check_failed_for_good(told, journal)
        print("checked", told.count(None) > 0)
    """
    process = child(code, path, PYTHONPATH=str(Path(__file__).parents[2]))
    out, err = process.communicate(timeout=120)
    assert out == "checked True\n", err


def test_a_journal_that_stays_locked_fails_for_good(path: Path) -> None:
    journal = SqliteJournal(path, patience=0.01)
    write(journal, start(0))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalNotWritable, match="locked"):
            write(journal, start(1))
    with pytest.raises(JournalNotWritable, match="locked"):
        write(journal, start(2))
    assert [item.index for item in journal.items(1)] == [0]
    journal.close()


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_file_that_somebody_takes_away_is_not_written_to_in_vain(path: Path, how: str) -> None:
    """SQLite goes on writing to a file that has no name any more."""
    journal = SqliteJournal(path)
    write(journal, start(0))
    if how == "deleted":
        path.unlink()
    else:
        path.rename(path.with_name("elsewhere.db"))
    if how == "replaced":
        SqliteJournal(path.with_name("another.db")).close()
        path.with_name("another.db").rename(path)
    for number in (1, 2):
        with pytest.raises(JournalNotWritable, match="deleted, moved or replaced") as caught:
            write(journal, start(number))
    assert "is safe" not in str(caught.value)
    journal.close()


def test_closing_says_that_a_write_failed_if_nobody_else_was_told(path: Path) -> None:
    journal = SqliteJournal(path, patience=0.01)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        journal.submit(start(0))
        with pytest.raises(JournalNotWritable, match="locked"):
            journal.close()


def test_text_that_cannot_be_stored_fails_that_write_and_is_not_skipped(path: Path) -> None:
    journal = SqliteJournal(path)
    with pytest.raises(JournalNotWritable, match="surrogates"):
        write(journal, ItemStartWrite(1, "\ud800", 0, 1.0))
    with pytest.raises(JournalNotWritable):
        write(journal, start(1))
    journal.close()


def test_a_journal_that_nobody_closed_is_written_at_exit(path: Path) -> None:
    code = """
import sys
from pathlib import Path
from fanwise.journal.port import ItemStartWrite
from fanwise.journal.sqlite import SqliteJournal
journal = SqliteJournal(Path(sys.argv[1]))
for n in range(20_000):
    journal.submit(ItemStartWrite(1, str(n), n, 1.0))
"""
    subprocess.run([sys.executable, "-c", code, path], check=True)
    journal = SqliteJournal(path)
    assert len(list(journal.items(1))) == 20_000
    journal.close()


def test_a_journal_that_nobody_holds_is_written_and_its_thread_ends(path: Path) -> None:
    journal = SqliteJournal(path)
    thread = journal._writer._thread
    journal.submit(start(0))
    del journal
    thread.join(60)
    assert not thread.is_alive()
    again = SqliteJournal(path)
    assert len(list(again.items(1))) == 1
    again.close()


def test_a_write_that_races_with_closing_is_acknowledged_or_refused_but_never_lost(
    tmp_path: Path,
) -> None:
    for round_ in range(20):
        journal = SqliteJournal(tmp_path / f"{round_}.db")
        told: list[BaseException | None] = []
        ready = threading.Event()

        def submit(
            journal: SqliteJournal = journal, told: list[BaseException | None] = told
        ) -> None:
            for n in range(500):
                journal.submit(start(n), told.append)
                ready.set()

        thread = threading.Thread(target=submit)
        thread.start()
        ready.wait(60)
        journal.close()
        thread.join()
        assert len(told) == 500
        assert len(list(journal.items(1))) == told.count(None)


def test_a_write_that_is_taken_together_with_the_stop_before_it_is_told_too(path: Path) -> None:
    journal = SqliteJournal(path)
    in_the_callback, go_on = threading.Event(), threading.Event()

    def block(error: BaseException | None) -> None:
        in_the_callback.set()
        assert go_on.wait(60)

    journal.submit(start(0), block)
    assert in_the_callback.wait(60)
    told: list[BaseException | None] = []
    journal._writer._queue.put((_Stop(), None))
    journal.submit(start(1), told.append)
    go_on.set()
    journal.close()
    assert told == [None]


def test_a_write_that_comes_when_the_writer_has_just_ended_is_refused(path: Path) -> None:
    journal = SqliteJournal(path)
    queue = journal._writer._queue

    class Slow:
        """A queue into which a write comes just after the journal was closed."""

        get, get_nowait = queue.get, queue.get_nowait

        def put(self, entry: Any) -> None:
            if isinstance(entry[0], ItemStartWrite):
                journal.close()
            queue.put(entry)

    journal._writer._queue = Slow()  # type: ignore[assignment]
    told: list[BaseException | None] = []
    journal.submit(start(0), told.append)
    assert [type(error) for error in told] == [JournalNotWritable]


def test_an_iterator_that_is_not_read_to_its_end_does_not_stop_the_writer(
    on_disk: SqliteJournal,
) -> None:
    write(on_disk, *(start(n) for n in range(3000)))
    items = on_disk.items(1)
    next(items)
    write(on_disk, start(3000))
    assert sum(1 for _ in items) == 2999, "an iterator shows one moment"


@pytest.fixture
def anyones_directory() -> Iterator[Path]:
    """A directory that a process without rights can reach; pytest's own cannot be."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    yield directory
    directory.chmod(0o755)
    shutil.rmtree(directory)


def test_a_journal_in_a_read_only_directory_can_be_read_but_not_written(
    anyones_directory: Path,
) -> None:
    path = anyones_directory / "j.db"
    journal = SqliteJournal(path)
    journal.create_run(a_run())
    journal.close()
    path.chmod(0o444)
    anyones_directory.chmod(0o555)
    code = """
import os, sys
from fanwise.errors import JournalNotWritable
from fanwise.journal.open import open_journal
import fanwise.journal.sqlite
if os.getuid() == 0:
    os.setuid(65534)  # for root nothing is read-only
assert not os.access(sys.argv[1], os.W_OK)
journal = open_journal(sys.argv[1], read_only=True)
print([run.id for run in journal.runs()])
journal.close()
try:
    open_journal(sys.argv[1])
except JournalNotWritable:
    print("not writable")
"""
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=False
    )
    assert done.stdout == "['r']\nnot writable\n", done.stderr
