"""Bring a journal file to the newest schema.

A file that is up to date, the usual case, costs two queries. A new file gets its tables from the
metadata, which needs SQLAlchemy; only an older file also needs Alembic. Both are slow to import.

Files are created and migrated under a lock file, because two processes may open a journal at the
same moment. In particular, switching a file to WAL does not wait for others: it fails.
"""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from sqlite3 import Connection
from typing import IO, TYPE_CHECKING

from fanwise.errors import JournalNotWritable, JournalUnreadable
from fanwise.journal.connect import connect, journal_errors, transaction
from fanwise.journal.version import HISTORY, NO_TABLES, History, is_older, version_of
from fanwise.journal.views import drop_views, make_views
from fanwise.private_files import close_to_others, make_file, open_file

if TYPE_CHECKING:
    import sqlalchemy

log = logging.getLogger("fanwise.journal")


def prepare(path: Path, *, patience: float, history: History = HISTORY) -> None:
    """Make sure that there is a writable journal with the newest schema at `path`."""
    if path.is_dir():
        raise JournalUnreadable(str(path), "it is a directory")
    if _is_empty(path) or _needs_work(path, patience, history):
        with _lock(path):
            is_new = not path.exists()
            try:
                with _system_errors(path):
                    make_file(path.resolve())  # SQLite would leave the permissions to the umask
                _make_or_migrate(path, patience, history)
            except BaseException:
                if is_new and _is_empty(path):
                    path.unlink(missing_ok=True)  # an empty file is not a journal
                raise
    _close_to_others(path)


def _close_to_others(path: Path) -> None:
    """Make it private: earlier versions left the permissions to the umask."""
    file = path.resolve()  # SQLite keeps its own files beside this one
    beside = (f"{file}-wal", f"{file}-shm", f"{path}.lock", f"{path}.files")
    try:
        for name in beside:
            close_to_others(Path(name))
        if close_to_others(file):
            log.warning("%s could be read by other users; from now on only by you", path)
    except OSError as error:  # some file systems have no such permissions
        log.warning("other users may be able to read %s: %s", path, error)


def _is_empty(path: Path) -> bool:
    return not path.exists() or path.stat().st_size == 0


def _needs_work(path: Path, patience: float, history: History) -> bool:
    with _connection(path, "rw", patience) as connection:
        version = version_of(connection, path)
        if version == NO_TABLES or is_older(str(path), version, history):
            return True
        _check_writable(connection)
    return False


def _check_writable(connection: Connection) -> None:
    with transaction(connection):
        pass  # SQLite opens a read-only file without complaint; this makes it fail.


def _make_or_migrate(path: Path, patience: float, history: History) -> None:
    with _connection(path, "rwc", patience) as connection:
        version = version_of(connection, path)
        if version == NO_TABLES:
            _make(connection, history)
        elif is_older(str(path), version, history):
            _back_up(connection, path, version)
            _migrate(connection, history)


def _make(connection: Connection, history: History) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    with _sqlalchemy(connection) as core, transaction(connection):
        migrate_tables(core, history, is_new=True)
        make_views(connection)


def _migrate(connection: Connection, history: History) -> None:
    with _sqlalchemy(connection) as core, transaction(connection):
        drop_views(connection)
        migrate_tables(core, history, is_new=False)
        make_views(connection)


def migrate_tables(core: sqlalchemy.Connection, history: History, *, is_new: bool) -> None:
    """Make the tables, or bring them to the newest version. The transaction is the caller's."""
    core.begin()  # otherwise Alembic begins, and commits, one of its own
    if is_new:
        _create_tables(core, history)
        return
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(history.migrations).replace("%", "%%"))
    config.attributes["connection"] = core
    command.upgrade(config, history.head)


def _create_tables(core: sqlalchemy.Connection, history: History) -> None:
    from fanwise.journal.schema import metadata

    metadata.create_all(core, checkfirst=False)
    core.exec_driver_sql(
        "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
        "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
    )
    core.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{history.head}')")


@contextmanager
def _sqlalchemy(connection: Connection) -> Iterator[sqlalchemy.Connection]:
    """The same connection for SQLAlchemy. We still control the transactions."""
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
    """Keep a copy beside the file, because a migration cannot be undone."""
    kept = Path(f"{path}.version-{version}")
    make_file(kept)
    with closing(sqlite3.connect(kept)) as copy:
        connection.backup(copy)


@contextmanager
def _connection(path: Path, mode: str, patience: float) -> Iterator[Connection]:
    with (
        journal_errors(path, opening=True),
        closing(connect(path, mode=mode, patience=patience)) as connection,
    ):
        yield connection


@contextmanager
def _system_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = error.strerror or str(error)
        raise JournalNotWritable(str(path), problem, opening=True) from error


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Keep other fanwise processes out while the file is created or migrated.

    A process that fails to create a journal removes the lock file. So after waiting for a lock,
    check that it is still the file on disk.
    """
    lock = Path(f"{path}.lock")
    while True:
        with _system_errors(path):
            file = os.fdopen(open_file(lock), "w")
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
