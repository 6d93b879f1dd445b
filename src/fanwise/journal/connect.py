"""Connections to a journal file, and what SQLite's errors mean.

We begin transactions ourselves (`BEGIN IMMEDIATE` … `COMMIT`). One that starts by reading and
writes later, as the driver would do it, can fail halfway with "locked"; one that starts as a
writer cannot. So connections are in autocommit mode, and each read is one statement with one
snapshot.

Nothing here opens the file directly, not even to look at its header: closing any descriptor of a
file drops all POSIX locks that the process holds on it, including SQLite's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
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
    """Open the file. `mode`: rw, rwc (create it if it does not exist), ro or immutable."""
    query = "mode=ro&immutable=1" if mode == "immutable" else f"mode={mode}"
    uri = f"file:{quote(str(path))}?{query}"
    connection = sqlite3.connect(
        uri, uri=True, timeout=patience, isolation_level=None, check_same_thread=False
    )
    try:
        # Per connection. WAL mode is stored in the file.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
    except BaseException:
        connection.close()
        raise
    return connection


class SqliteConnections:
    """A pool of connections to one file, usable from any thread."""

    def __init__(self, path: Path, *, mode: str = "rw", patience: float = PATIENCE_S) -> None:
        self._path = path
        self._mode = mode
        self._patience = patience
        self._idle: list[sqlite3.Connection] = []
        self._watching: sqlite3.Connection | None = None
        self._closed = False

    @property
    def location(self) -> str:
        """The path of the file."""
        return str(self._path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection for this block alone, with SQLite's errors turned into ours."""
        with journal_errors(self._path), self.one() as connection:
            yield connection

    def rows(
        self, connection: sqlite3.Connection, query: str, parameters: Sequence[Any]
    ) -> Iterable[Any]:
        """The rows of a result, one by one."""
        return connection.execute(query, parameters)

    def version(self) -> int:
        """Each connection counts for itself, so it is always the same one that is asked."""
        with journal_errors(self._path):
            if self._watching is None:
                self._watching = connect(self._path, mode=self._mode, patience=self._patience)
            found: int = self._watching.execute("PRAGMA data_version").fetchone()[0]
            return found

    @contextmanager
    def one(self) -> Iterator[sqlite3.Connection]:
        """A connection for this block alone."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = connect(self._path, mode=self._mode, patience=self._patience)
        try:
            yield connection
        except BaseException:  # An iterator that was not read to its end still has its snapshot.
            with suppress(sqlite3.Error):
                connection.close()
            raise
        self._idle.append(connection)
        if self._closed:
            self.close()

    def close(self) -> None:
        """Close the idle ones now, and the others after use."""
        self._closed = True
        if self._watching is not None:
            self._watching.close()
        while self._idle:
            with suppress(IndexError):  # another thread was faster
                self._idle.pop().close()


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction: all or nothing, and nobody else writes meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # if the disk is full, SQLite has already ended it
            connection.execute("ROLLBACK")
        raise


@contextmanager
def journal_errors(path: Path, *, opening: bool = False) -> Iterator[None]:
    """Turn SQLite's errors into ours. `opening`: nothing has been written yet."""
    try:
        yield
    # SQLite quotes a damaged schema in its errors, and the driver cannot decode that.
    except (sqlite3.Error, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise explain(path, error, opening=opening) from error


def explain(path: Path, error: BaseException, *, opening: bool = False) -> JournalError:
    """Our error for one of the driver's."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    # An I/O error may mean a disk that cannot be read, or one that is full.
    if code in REFUSED or (opening and code == sqlite3.SQLITE_IOERR):
        return JournalNotWritable(str(path), str(error), opening=opening)
    is_damaged = code in DAMAGED or not isinstance(error, sqlite3.Error)
    problem = "it is damaged" if is_damaged else "it cannot be read"
    return JournalUnreadable(str(path), f"{problem} ({error})")
