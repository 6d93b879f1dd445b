"""Bringing a journal file to the schema that this fanwise knows.

The usual case, a file that is up to date, costs one query. A new file gets the tables from the
metadata. Only an older file needs Alembic, whose import alone is slower than both.

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
from typing import IO

import msgspec
from sqlalchemy import Connection, Engine

from fanwise.errors import JournalNotWritable, JournalTooNew, JournalUnreadable
from fanwise.journal.connect import connect, driver, journal_errors, transaction
from fanwise.journal.schema import HEAD, metadata
from fanwise.journal.views import drop_views, make_views

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


def check_readable(engine: Engine, path: Path, history: History = HISTORY) -> None:
    """Raise unless the file, as it is, can be read by this fanwise."""
    with engine.connect() as connection:
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
    connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    with transaction(connection):
        metadata.create_all(connection, checkfirst=False)
        make_views(connection)
        connection.exec_driver_sql(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        )
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (history.head,))


def _migrate(connection: Connection, history: History) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(history.migrations).replace("%", "%%"))
    config.attributes["connection"] = connection
    with transaction(connection):
        if not connection.in_transaction():
            connection.begin()  # or Alembic would begin, and so commit, one of its own
        drop_views(connection)
        command.upgrade(config, history.head)
        make_views(connection)


def _back_up(connection: Connection, path: Path, version: str) -> None:
    """Copy the file as it was, beside it: a migration cannot be undone."""
    with closing(sqlite3.connect(f"{path}.version-{version}")) as copy:
        driver(connection).backup(copy)


def _version(connection: Connection, path: Path) -> str:
    tables = connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars().all()
    if not tables:
        return NO_TABLES
    if "alembic_version" not in tables or "runs" not in tables:
        raise JournalUnreadable(str(path), "it is the database of another program")
    version = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    if not isinstance(version, str) or not version.isdecimal():
        raise JournalUnreadable(str(path), f"its schema version is {version!r}")
    return version


def _is_older(path: Path, version: str, history: History) -> bool:
    if int(version) > int(history.head):
        raise JournalTooNew(str(path), version, history.head)
    return version != history.head


@contextmanager
def _connection(path: Path, mode: str, patience: float) -> Iterator[Connection]:
    engine = connect(path, mode=mode, patience=patience)
    try:
        with journal_errors(path, opening=True), engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


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
