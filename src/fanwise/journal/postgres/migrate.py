"""Bring a database to the newest schema, while others wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from fanwise.journal import queries
from fanwise.journal.migrate import migrate_tables
from fanwise.journal.postgres.address import without_password
from fanwise.journal.postgres.connect import SCHEMA, PostgresConnection, connect
from fanwise.journal.postgres.views import VIEWS
from fanwise.journal.runs import JournalConnection
from fanwise.journal.version import NO_TABLES, History, is_older, refuse_unless_head

if TYPE_CHECKING:
    import sqlalchemy

LOCK = 0x66616E776D
"""Held while tables are made or changed."""


def prepare(address: str, history: History) -> None:
    """Make sure that the database has the tables of the newest schema."""
    place = without_password(address)
    with closing(connect(address)) as connection:
        if _is_ready(connection, place, history):
            return
        connection.execute("SELECT pg_advisory_lock(?)", (LOCK,))
        if not _is_ready(connection, place, history):  # nobody else did it meanwhile
            _make_or_migrate(connection, history)


def check_readable(connection: JournalConnection, place: str) -> None:
    """Raise unless this fanwise can read the tables without changing them."""
    refuse_unless_head(place, _version(connection))


def _is_ready(connection: PostgresConnection, place: str, history: History) -> bool:
    version = _version(connection)
    return version != NO_TABLES and not is_older(place, version, history)


def _version(connection: JournalConnection) -> str:
    found = connection.execute(f"SELECT to_regclass('{SCHEMA}.alembic_version')").fetchone()
    if found is None or found[0] is None:
        return NO_TABLES
    row = connection.execute(queries.VERSION).fetchone()
    return NO_TABLES if row is None else str(row[0])


def _make_or_migrate(connection: PostgresConnection, history: History) -> None:
    with _sqlalchemy(connection) as core, connection.raw.transaction():
        is_new = _version(connection) == NO_TABLES
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        for name in reversed(VIEWS):
            connection.execute(f"DROP VIEW IF EXISTS {name}")
        migrate_tables(core, history, is_new=is_new)
        for name, query in VIEWS.items():
            connection.raw.execute(f"CREATE VIEW {name} AS {query}")


@contextmanager
def _sqlalchemy(connection: PostgresConnection) -> Iterator[sqlalchemy.Connection]:
    """The same connection for SQLAlchemy. We still control the transactions."""
    from sqlalchemy import StaticPool, create_engine
    from sqlalchemy.exc import DBAPIError

    engine = create_engine(
        "postgresql+psycopg://",
        creator=lambda: connection.raw,
        poolclass=StaticPool,
        pool_reset_on_return=None,
        isolation_level="AUTOCOMMIT",
    )
    try:
        with engine.connect() as core:
            yield core
    except DBAPIError as error:
        raise (error.orig or error) from error
