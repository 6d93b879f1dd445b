"""Connections to a journal file, and what SQLite's errors mean.

Transactions are ours (`BEGIN IMMEDIATE` … `COMMIT`), not the driver's: a transaction that begins
by reading and writes later can fail in the middle with "locked", one that begins as a writer
cannot. So the engine is in autocommit mode, and a read is one statement with one snapshot.

Nothing here opens the file itself, not even to look at its header: closing any descriptor of a
file drops all POSIX locks that the process has on it, SQLite's included.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, QueuePool, create_engine
from sqlalchemy.exc import DBAPIError

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


def connect(path: Path, *, mode: str = "rw", patience: float = PATIENCE_S) -> Engine:
    """An engine for the file. `mode`: rw, rwc (make it if it is not there), ro or immutable."""
    query = "mode=ro&immutable=1" if mode == "immutable" else f"mode={mode}"
    uri = f"file:{quote(str(path))}?{query}"

    def open_file() -> sqlite3.Connection:
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

    return create_engine(
        "sqlite://",
        creator=open_file,
        poolclass=QueuePool,
        max_overflow=-1,
        isolation_level="AUTOCOMMIT",
    )


def driver(connection: Connection) -> sqlite3.Connection:
    """The driver's own connection: where many small batches are written, SQLAlchemy's 20 µs for
    each statement would be most of the work."""
    own = connection.connection.driver_connection
    assert isinstance(own, sqlite3.Connection)
    return own


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """Everything inside, or nothing; nobody else writes meanwhile."""
    own = driver(connection)
    own.execute("BEGIN IMMEDIATE")
    try:
        yield
        own.execute("COMMIT")
    except BaseException:
        if own.in_transaction:  # SQLite has ended it already if the disk is full
            own.execute("ROLLBACK")
        raise


@contextmanager
def journal_errors(path: Path) -> Iterator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        raise explain(path, error) from error


def explain(path: Path, error: BaseException) -> JournalError:
    """What a driver's error means for the journal."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if code in REFUSED:
        return JournalNotWritable(str(path), str(cause))
    problem = "it is damaged" if code in DAMAGED else "it cannot be read"
    return JournalUnreadable(str(path), f"{problem} ({cause})")
