"""The book of shared caps on a PostgreSQL server, for the processes of several machines.

The table is not logged: what is leased is void when the server crashes. A lock for each shared cap
serialises the transactions, time is that of the server, and changes are told by NOTIFY.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from fanwise.core.shares import Due
from fanwise.journal.leases import Change, LeaseRow, News, SharedBook, T
from fanwise.journal.postgres.connect import PostgresConnection, connect, driver, postgres_errors

CHANNEL = "fanwise_leases"
LOCK = 0x66616E78
"""The first half of the locks' numbers; the second is the hash of the cap's name."""
TABLE = """CREATE UNLOGGED TABLE IF NOT EXISTS leases (
    name text, holder text, row text, PRIMARY KEY (name, holder))"""
LASTING = "shared_budgets"
"""The same, for what survives a crash of the server."""
LOAD = "SELECT row FROM {} WHERE name = ? AND holder = ''"
SAVE = """INSERT INTO leases VALUES (?, ?, ?)
    ON CONFLICT (name, holder) DO UPDATE SET row = excluded.row"""
REMOVE = "DELETE FROM leases WHERE name = ? AND holder = ?"
BEGIN = f"""SELECT pg_advisory_xact_lock({LOCK}, hashtext(?)),
    extract(epoch FROM clock_timestamp())::float8"""
_row = msgspec.json.Decoder(LeaseRow)
_news = msgspec.json.Decoder(dict[str, Due])


class PostgresLeaseBook(SharedBook):
    """For all processes that use the journal at this address."""

    def __init__(self, address: str, lasts_s: float | None = None) -> None:
        super().__init__(lasts_s)
        self._at = address
        self._woken, self._waker = socket.socketpair()
        self._woken.setblocking(False)
        self._waker.setblocking(False)
        self._connection: PostgresConnection | None = None
        try:
            with postgres_errors(address, opening=True):
                self._connected()
        except BaseException:
            self.close()
            raise

    def _connected(self) -> PostgresConnection:
        """The connection, or a new one if it was lost."""
        if self._connection is None or self._connection.raw.closed:
            connection = connect(self._at)
            connection.execute(f"SELECT pg_advisory_lock({LOCK}, 0)")
            connection.execute(TABLE)  # two that create it at once would fail
            connection.execute(TABLE.replace("UNLOGGED ", "").replace("leases", LASTING))
            connection.execute(f"SELECT pg_advisory_unlock({LOCK}, 0)")
            connection.execute(f"LISTEN {CHANNEL}")
            self._connection = connection
        return self._connection

    @contextmanager
    def open(self, name: str) -> Iterator[PostgresLeaseTable]:
        """The rows of a shared cap, in a transaction."""
        with postgres_errors(self._at):
            connection = self._connected()
            with connection.raw.transaction():
                yield PostgresLeaseTable(connection, name)

    def update(self, name: str, change: Change[T], *, lasting: bool) -> T:
        """See `LeaseBook`."""
        table = LASTING if lasting else "leases"
        with postgres_errors(self._at):
            connection = self._connected()
            with connection.raw.transaction():
                now = PostgresLeaseTable(connection, name).now
                found = connection.execute(LOAD.format(table), (name,)).fetchone()
                kept, result = change(None if found is None else found[0].encode(), now)
                saved = SAVE.replace("leases", table)
                connection.execute(saved, (name, "", kept.decode()))
        return result

    def tell(self, name: str, rows: Sequence[LeaseRow]) -> None:
        """To all: each knows its own holders."""
        if rows and self._connection is not None:
            news = msgspec.json.encode({row.holder: row.due for row in rows}).decode()
            self._connection.execute("SELECT pg_notify(?, ?)", (CHANNEL, news))

    def wait(self, timeout: float) -> News:
        """Wait until something changed, or `wake` is called."""
        deadline = time.monotonic() + timeout
        while True:
            is_woken, news = self._heard(deadline - time.monotonic())
            ours = {holder: due for holder, due in news.items() if holder in self._holders}
            if ours or is_woken or time.monotonic() >= deadline:
                return ours

    def _heard(self, timeout: float) -> tuple[bool, News]:
        """Whether it was woken, and what all holders were told."""
        raw = None if self._connection is None else self._connection.raw
        woken = self._woken.fileno()
        heard = [woken] if raw is None or raw.closed else [woken, raw.fileno()]
        readable, _, _ = select.select(heard, [], [], max(0.0, timeout))
        if woken in readable:
            with suppress(BlockingIOError):
                while self._woken.recv(4096):
                    pass
        found: dict[str, Due] = {}
        if raw is not None and not raw.closed:
            with suppress(driver().Error):  # a lost connection is found by the next exchange
                for notice in raw.notifies(timeout=0):
                    found |= _news.decode(notice.payload)
        return woken in readable, found

    def wake(self) -> None:
        """Let `wait` return. From any thread."""
        with suppress(OSError):  # it is full, or closed: then it returns anyway
            self._waker.send(b".")

    def close(self) -> None:
        """Close the connection; leases that were not released run out."""
        if self._connection is not None:
            with suppress(driver().Error):
                self._connection.close()
        self._woken.close()
        self._waker.close()


class PostgresLeaseTable:
    """The rows of one shared cap, in a transaction. Time is the server's."""

    def __init__(self, connection: PostgresConnection, name: str) -> None:
        self._connection = connection
        self._name = name
        found = connection.execute(BEGIN, (name,)).fetchone()
        assert found is not None
        self.now = float(found[1])

    def rows(self) -> list[LeaseRow]:
        found = self._connection.execute("SELECT row FROM leases WHERE name = ?", (self._name,))
        return [_row.decode(row) for (row,) in found]

    def save(self, row: LeaseRow) -> None:
        encoded = msgspec.json.encode(row).decode()
        self._connection.execute(SAVE, (self._name, row.holder, encoded))

    def remove(self, row: LeaseRow) -> None:
        self._connection.execute(REMOVE, (self._name, row.holder))
