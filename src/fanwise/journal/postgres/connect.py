"""PostgresConnections to a PostgreSQL server, and what its errors mean.

Everything is in a schema of its own, `fanwise`, so that a journal can share a database with other
tables. Queries are written with `?`, as for SQLite, and translated here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fanwise.errors import (
    JournalDamaged,
    JournalError,
    JournalNotWritable,
    JournalUnreadable,
    MissingExtra,
)
from fanwise.journal.postgres.address import without_password

if TYPE_CHECKING:
    import psycopg

SCHEMA = "fanwise"
CONNECT_S = 10
SILENCE_MS = 30_000
"""How long unanswered data may be under way before the connection counts as lost."""


def driver() -> Any:
    """The module `psycopg`."""
    try:
        import psycopg
    except ImportError as error:
        raise MissingExtra("a journal on PostgreSQL", "postgres") from error
    return psycopg


class PostgresConnection:
    """A connection in autocommit mode that takes the same queries as SQLite's."""

    def __init__(self, raw: psycopg.Connection[Any]) -> None:
        self.raw = raw

    def execute(self, query: str, parameters: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        """Execute a query with `?` for each parameter."""
        return self.raw.execute(translate(query), parameters)

    def stream(self, query: str, parameters: Sequence[Any]) -> Iterable[Any]:
        """The rows of a long result, a thousand at a time."""
        size = 1000 if driver().capabilities.has_stream_chunked() else 1
        return self.raw.cursor().stream(translate(query), parameters, size=size)

    def close(self) -> None:
        """Close it."""
        self.raw.close()


WRITES = """SELECT count(*), sum(batch), sum(epoch), count(*) FILTER (WHERE cancel_requested)
    FROM runs"""


@lru_cache(maxsize=512)
def translate(query: str) -> str:
    """A query with `%s` instead of `?`, numbered where the type must be said."""
    return query.replace("? IS NULL", "%s::text IS NULL").replace("?", "%s")


def connect(address: str, *, read_only: bool = False) -> PostgresConnection:
    """Connect, and refuse a pool that gives each transaction another session."""
    psycopg = driver()
    raw = psycopg.connect(
        address,
        autocommit=True,
        connect_timeout=CONNECT_S,
        application_name="fanwise",
        tcp_user_timeout=SILENCE_MS,
        keepalives_idle=10,
        keepalives_interval=5,
    )
    try:
        _refuse_pool(raw, address)
        raw.execute(f"SET search_path TO {SCHEMA}")
        if read_only:
            raw.execute("SET default_transaction_read_only = on")
    except BaseException:
        raw.close()
        raise
    return PostgresConnection(raw)


def _refuse_pool(raw: psycopg.Connection[Any], address: str) -> None:
    """A pool answers with a process id that it made up, because it shares its sessions.

    Locks and notifications belong to a session, so they do not work behind one.
    """
    row = raw.execute("SELECT pg_backend_pid()").fetchone()
    if row is None or row[0] != raw.info.backend_pid:
        raise JournalNotWritable(
            without_password(address),
            "there is a connection pool, such as pgbouncer, in front of the server",
            opening=True,
            next_step="Give the address of the PostgreSQL server itself: who owns a run is known "
            "by a lock that belongs to one connection",
        )


class PostgresConnections:
    """A pool of connections for reading, usable from any thread."""

    def __init__(self, address: str, *, read_only: bool = False) -> None:
        self.location = without_password(address)
        self._address = address
        self._read_only = read_only
        self._idle: list[PostgresConnection] = []
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[PostgresConnection]:
        """A connection for this block alone, with the driver's errors turned into ours."""
        with postgres_errors(self._address):
            connection = self._take()
            try:
                yield connection
            except BaseException:  # An iterator that was not read to its end is still receiving.
                with suppress(Exception):
                    connection.close()
                raise
            self._idle.append(connection)
            if self._closed:
                self.close()

    def _take(self) -> PostgresConnection:
        """An idle connection that still works, or a new one."""
        while self._idle:
            with suppress(IndexError, driver().Error):
                connection = self._idle.pop()
                connection.execute("SELECT 1")
                return connection
        return connect(self._address, read_only=self._read_only)

    def rows(
        self, connection: PostgresConnection, query: str, parameters: Sequence[Any]
    ) -> Iterable[Any]:
        """The rows of a long result."""
        return connection.stream(query, parameters)

    def version(self) -> int:
        """Each write moves the batch number of its run on."""
        with self.reading() as connection:
            return hash(connection.execute(WRITES).fetchone())

    def close(self) -> None:
        """Close the idle ones now, and the others after use."""
        self._closed = True
        while self._idle:
            with suppress(IndexError):  # another thread was faster
                self._idle.pop().close()


@contextmanager
def postgres_errors(address: str, *, opening: bool = False) -> Iterator[None]:
    """Turn the driver's errors into ours. `opening`: nothing has been written yet."""
    try:
        yield
    except driver().Error as error:
        raise explain(address, error, opening=opening) from error


def explain(address: str, error: BaseException, *, opening: bool = False) -> JournalError:
    """Our error for one of the driver's."""
    psycopg = driver()
    place = without_password(address)
    problem = _one_line(error, address)
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return JournalNotWritable(place, problem, opening=opening, next_step=_ASK_FOR_RIGHTS)
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return JournalNotWritable(place, problem, opening=opening)
    if isinstance(error, psycopg.OperationalError):
        return JournalNotWritable(place, problem, opening=opening, next_step=_CHECK_SERVER)
    if isinstance(error, psycopg.DataError):
        return JournalDamaged(place, None, None, problem)
    return JournalUnreadable(place, problem)


_ASK_FOR_RIGHTS = (
    "Ask for the right to use the schema fanwise: reading needs SELECT, running needs all"
)
_CHECK_SERVER = (
    "What was recorded is safe. Check that the server runs and can be reached, then resume"
)


def _one_line(error: BaseException, address: str) -> str:
    """The driver's message without what it quotes of the address, which may hold a password."""
    text = next((line for line in str(error).splitlines() if line.strip()), repr(error))
    return text.replace(address, without_password(address))
