"""Connections to a journal file, and what SQLite's errors mean.

Transactions are ours (`BEGIN IMMEDIATE` … `COMMIT`), not the driver's: a transaction that begins
by reading and writes later can fail in the middle with "locked", one that begins as a writer
cannot. So connections are in autocommit mode, and a read is one statement with one snapshot.

Nothing here opens the file itself, not even to look at its header: closing any descriptor of a
file drops all POSIX locks that the process has on it, SQLite's included.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import msgspec

from fanwise.errors import JournalError, JournalNotWritable, JournalUnreadable

PATIENCE_S = 30.0
"""How long to wait for another process that is writing."""

DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
REFUSED = {
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
}


def connect(path: Path, *, mode: str = "rw", patience: float = PATIENCE_S) -> sqlite3.Connection:
    """Open the file. `mode`: rw, rwc (make it if it is not there), ro or immutable."""
    query = "mode=ro&immutable=1" if mode == "immutable" else f"mode={mode}"
    uri = f"file:{quote(str(path))}?{query}"
    connection = sqlite3.connect(
        uri, uri=True, timeout=patience, isolation_level=None, check_same_thread=False
    )
    try:
        # For each connection; that the file is in WAL mode is remembered in the file.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
    except BaseException:
        connection.close()
        raise
    return connection


class Connections:
    """As many connections to one file as are in use at once, from any thread."""

    def __init__(self, path: Path, *, mode: str = "rw", patience: float = PATIENCE_S) -> None:
        self._path = path
        self._mode = mode
        self._patience = patience
        self._idle: list[sqlite3.Connection] = []
        self._closed = False

    @contextmanager
    def one(self) -> Iterator[sqlite3.Connection]:
        """A connection that nobody else uses meanwhile."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = connect(self._path, mode=self._mode, patience=self._patience)
        try:
            yield connection
        except BaseException:  # An iterator that is left early still has its snapshot.
            with suppress(sqlite3.Error):
                connection.close()
            raise
        self._idle.append(connection)
        if self._closed:
            self.close()

    def close(self) -> None:
        """Close those that are idle now, and the others after their use."""
        self._closed = True
        while self._idle:
            with suppress(IndexError):  # another thread was faster
                self._idle.pop().close()


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything inside, or nothing; nobody else writes meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite has ended it already if the disk is full
            connection.execute("ROLLBACK")
        raise


@contextmanager
def journal_errors(path: Path, *, opening: bool = False) -> Iterator[None]:
    """SQLite's errors as ours. `opening`: for writing, which is yet to begin."""
    try:
        yield
    # SQLite quotes a damaged schema in its errors, and the driver fails to decode those.
    except (sqlite3.Error, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise explain(path, error, opening=opening) from error


def explain(path: Path, error: BaseException, *, opening: bool = False) -> JournalError:
    """What a driver's error means for the journal."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    # An I/O error may come from a disk that cannot be read, or from one that takes no more.
    if code in REFUSED or (opening and code == sqlite3.SQLITE_IOERR):
        return JournalNotWritable(str(path), str(error), opening=opening)
    is_damaged = code in DAMAGED or not isinstance(error, sqlite3.Error)
    problem = "it is damaged" if is_damaged else "it cannot be read"
    return JournalUnreadable(str(path), f"{problem} ({error})")
