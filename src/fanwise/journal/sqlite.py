"""The journal in an SQLite file.

SQLite needs nothing to be installed or started, and its file can be copied, attached and queried.
WAL lets readers (`fanwise show`) and the writer work without waiting for each other.
synchronous=FULL, because the default with WAL may lose the last commits when the power fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any, TypeVar

from fanwise.crashpoint import crash_point
from fanwise.errors import JournalError, JournalNotWritable
from fanwise.journal import runs
from fanwise.journal.batch import write_all
from fanwise.journal.connect import (
    PATIENCE_S,
    SqliteConnections,
    connect,
    explain,
    journal_errors,
    transaction,
)
from fanwise.journal.migrate import prepare
from fanwise.journal.port import Owner, RunRecord, RunSpec, Write
from fanwise.journal.sqlite_leases import SqliteLeaseBook
from fanwise.journal.statements import Statement, insert_all
from fanwise.journal.version import HISTORY, History
from fanwise.journal.writer import WrittenJournal

T = TypeVar("T")


class SqliteJournal(WrittenJournal):
    """A journal for reading and writing. Close it; one that is not closed is flushed at exit."""

    def __init__(
        self, path: Path, *, patience: float = PATIENCE_S, history: History = HISTORY
    ) -> None:
        prepare(path, patience=patience, history=history)
        with journal_errors(path, opening=True):
            session = SqliteSession(connect(path, patience=patience), path)
        self._path = path
        super().__init__(SqliteConnections(path, patience=patience), session)

    def lease_book(self) -> SqliteLeaseBook:
        return SqliteLeaseBook(self._path)

    def create_run(self, run: RunRecord) -> RunRecord:
        return self._writer.call(partial(runs.create, run=run))

    def claim_run(
        self, run_id: str, owner: Owner, *, force: bool = False, spec: RunSpec | None = None
    ) -> RunRecord:
        """Become the owner of a run."""
        return self._writer.call(
            partial(runs.claim, run_id=run_id, owner=owner, force=force, spec=spec)
        )


class SqliteSession:
    """The writing connection.

    SQLite sends no notifications, so cancel requests are polled for. `PRAGMA data_version` tells
    within microseconds whether another connection has written.
    """

    poll_s = 0.3

    def __init__(self, connection: Connection, path: Path) -> None:
        self.location = str(path)
        self._connection = connection
        self._path = path
        self._file = _identity(path)
        self._seen_version: int | None = None

    def commit(self, writes: list[Write]) -> None:
        """Write all of this in one transaction."""
        with transaction(self._connection):
            write_all(SqliteTarget(self._connection), writes)
            crash_point("journal.before_commit")
        self._check_file()
        crash_point("journal.after_commit")

    def _check_file(self) -> None:
        """Raise if the file was deleted or replaced: what is written then goes to nobody's file.

        After the commit, so that nobody is told of what is lost.
        """
        if _identity(self._path) != self._file:
            raise JournalNotWritable(
                self.location,
                "the file was deleted, moved or replaced while a run was using it",
                next_step="Put it back if you moved it, then resume; otherwise start a new run",
            )

    def call(self, function: Callable[[Connection], T]) -> T:
        """Call `function` in a transaction of its own."""
        with transaction(self._connection):
            return function(self._connection)

    def look(self, *, anyway: bool) -> list[runs.RunRequests]:
        """What was asked of runs, unless no other connection wrote since the last time."""
        version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        known, self._seen_version = self._seen_version, version
        return runs.requests(self._connection) if anyway or known != version else []

    def explain(self, error: Exception) -> JournalError:
        """Our error for one of SQLite's."""
        return explain(self._path, error)

    def close(self) -> None:
        self._connection.close()


class SqliteTarget:
    """Inserts many rows with few statements."""

    def __init__(self, connection: Connection) -> None:
        self.execute = connection.execute

    def insert(self, statement: Statement, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert the rows, in order."""
        insert_all(self.execute, statement, rows)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file is there; None: there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
