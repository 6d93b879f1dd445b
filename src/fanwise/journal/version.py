"""The schema version of a journal file, and whether this fanwise can read it."""

from __future__ import annotations

from pathlib import Path
from sqlite3 import Connection

import msgspec

from fanwise.errors import JournalTooNew, JournalUnreadable
from fanwise.journal import queries

HEAD = "0008"
"""The newest schema version. Versions are numbers, so that older and newer can be told apart."""

NO_TABLES = ""
"""The version of an empty file."""


class History(msgspec.Struct, frozen=True):
    """The known schema versions."""

    head: str = HEAD
    migrations: Path = Path(__file__).parent / "migrations"


HISTORY = History()


def check_readable(connection: Connection, path: Path, history: History = HISTORY) -> None:
    """Raise unless this fanwise can read the file without migrating it."""
    refuse_unless_head(str(path), version_of(connection, path), history)


def refuse_unless_head(place: str, version: str, history: History = HISTORY) -> None:
    """Raise unless a journal of that version can be read without migrating it."""
    if version == NO_TABLES:
        raise JournalUnreadable(place, "nothing has been written to it")
    if is_older(place, version, history):
        problem = f"its schema version is {version}, and {history.head} is needed"
        raise JournalUnreadable(place, f"{problem}: open it once for writing")


def version_of(connection: Connection, path: Path) -> str:
    """The version of a file. Raises `JournalUnreadable` if it is not a journal."""
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


def is_older(place: str, version: str, history: History) -> bool:
    """Whether a journal of that version has to be migrated. Raises `JournalTooNew`."""
    if int(version) > int(history.head):
        raise JournalTooNew(place, version, history.head)
    return version != history.head
