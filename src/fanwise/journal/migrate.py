"""Bringing a journal file to the schema that this fanwise knows.

The usual case, a file that is up to date, costs two queries. A new file gets the tables from the
metadata, which needs SQLAlchemy; only an older file needs Alembic too. Both are slow to import.

Files are made and migrated under a lock file, for two processes may open a journal at the same
moment; switching a file to WAL in particular does not wait for others, it fails.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from sqlite3 import Connection
from typing import IO, TYPE_CHECKING

import msgspec

from fanwise.errors import JournalNotWritable, JournalTooNew, JournalUnreadable
from fanwise.journal import queries
from fanwise.journal.connect import connect, journal_errors, transaction
from fanwise.journal.views import drop_views, make_views

if TYPE_CHECKING:
    import sqlalchemy

HEAD = "0003"
"""The newest schema version. Versions are counted, so that older and newer can be told apart."""

NO_TABLES = ""
"""The version of a file in which nothing is yet."""


class History(msgspec.Struct, frozen=True):
    """The schema versions that there are."""

    head: str = HEAD
    migrations: Path = Path(__file__).parent / "migrations"


HISTORY = History()


def prepare(path: Path, *, patience: float, history: History = HISTORY) -> None:
    """Leave a writable journal at `path` in the newest schema."""
    if path.is_dir():
        raise JournalUnreadable(str(path), "it is a directory")
    if _is_empty(path) or _needs_work(path, patience, history):
        with _lock(path):
            is_new = not path.exists()
            try:
                _make_or_migrate(path, patience, history)
            except BaseException:
                if is_new and _is_empty(path):
                    path.unlink(missing_ok=True)  # else it would be found, and be no journal
                raise


def check_readable(connection: Connection, path: Path, history: History = HISTORY) -> None:
    """Raise unless the file, as it is, can be read by this fanwise."""
    version = _version(connection, path)
    if version == NO_TABLES:
        raise JournalUnreadable(str(path), "nothing has been written to it")
    if _is_older(path, version, history):
        problem = f"its schema version is {version}, and {history.head} is needed"
        raise JournalUnreadable(str(path), f"{problem}: open it once for writing")


def _is_empty(path: Path) -> bool:
    return not path.exists() or path.stat().st_size == 0


def _needs_work(path: Path, patience: float, history: History) -> bool:
    with _connection(path, "rw", patience) as connection:
        version = _version(connection, path)
        if version == NO_TABLES or _is_older(path, version, history):
            return True
        _check_writable(connection)
    return False


def _check_writable(connection: Connection) -> None:
    with transaction(connection):
        pass  # SQLite opens a read-only file without a word; this makes it say so.


def _make_or_migrate(path: Path, patience: float, history: History) -> None:
    with _connection(path, "rwc", patience) as connection:
        version = _version(connection, path)
        if version == NO_TABLES:
            _make(connection, history)
        elif _is_older(path, version, history):
            _back_up(connection, path, version)
            _migrate(connection, history)


def _make(connection: Connection, history: History) -> None:
    from fanwise.journal.schema import metadata

    connection.execute("PRAGMA journal_mode = WAL")
    with _sqlalchemy(connection) as core, transaction(connection):
        metadata.create_all(core, checkfirst=False)
        make_views(connection)
        connection.execute(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        )
        connection.execute("INSERT INTO alembic_version VALUES (?)", (history.head,))


def _migrate(connection: Connection, history: History) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(history.migrations).replace("%", "%%"))
    with _sqlalchemy(connection) as core, transaction(connection):
        config.attributes["connection"] = core
        core.begin()  # or Alembic would begin, and so commit, one of its own
        drop_views(connection)
        command.upgrade(config, history.head)
        make_views(connection)


@contextmanager
def _sqlalchemy(connection: Connection) -> Iterator[sqlalchemy.Connection]:
    """The same connection, as SQLAlchemy's; transactions stay ours."""
    from sqlalchemy import StaticPool, create_engine
    from sqlalchemy.exc import DBAPIError

    engine = create_engine(
        "sqlite://",
        creator=lambda: connection,
        poolclass=StaticPool,
        pool_reset_on_return=None,
        isolation_level="AUTOCOMMIT",
    )
    try:
        with engine.connect() as core:
            yield core
    except DBAPIError as error:
        raise (error.orig or error) from error


def _back_up(connection: Connection, path: Path, version: str) -> None:
    """Copy the file as it was, beside it: a migration cannot be undone."""
    with closing(sqlite3.connect(f"{path}.version-{version}")) as copy:
        connection.backup(copy)


def _version(connection: Connection, path: Path) -> str:
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master")]
    if not tables:
        return NO_TABLES
    if "alembic_version" not in tables or "runs" not in tables:
        raise JournalUnreadable(str(path), "it is the database of another program")
    row = connection.execute(queries.VERSION).fetchone()
    version = None if row is None else row[0]
    if not isinstance(version, str) or not version.isdecimal():
        raise JournalUnreadable(str(path), f"its schema version is {version!r}")
    return version


def _is_older(path: Path, version: str, history: History) -> bool:
    if int(version) > int(history.head):
        raise JournalTooNew(str(path), version, history.head)
    return version != history.head


@contextmanager
def _connection(path: Path, mode: str, patience: float) -> Iterator[Connection]:
    with (
        journal_errors(path, opening=True),
        closing(connect(path, mode=mode, patience=patience)) as connection,
    ):
        yield connection


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Keep other fanwise processes out while the file is made or migrated.

    The lock file goes with whoever failed to make a journal, so one that was waited for may be
    gone: then there is another, or none.
    """
    lock = Path(f"{path}.lock")
    while True:
        try:
            file = lock.open("w")
        except OSError as error:
            problem = error.strerror or str(error)
            raise JournalNotWritable(str(path), problem, opening=True) from error
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_the_same(lock, file):
                continue
            try:
                yield
            finally:
                if not path.exists():
                    lock.unlink(missing_ok=True)
            return


def _is_the_same(path: Path, file: IO[str]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
