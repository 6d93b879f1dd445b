"""The book of shared caps on one machine: a file of SQLite beside the journal.

A file of its own, because the journal's transactions wait for the disk and these need not: what
is leased is void after a reboot, and the name of the file has the boot in it. A lock of the file
system serialises the transactions: who waits for it is woken by the kernel, while SQLite would
sleep and try again. Changes are told by datagrams to a socket of each process.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection

import msgspec

from fanwise.core.shares import Due
from fanwise.journal.connect import connect, journal_errors, transaction
from fanwise.journal.leases import Change, LeaseRow, News, SharedBook, T
from fanwise.private_files import make_file, open_file

TABLE = """CREATE TABLE IF NOT EXISTS leases (
    name TEXT, holder TEXT, row BLOB, PRIMARY KEY (name, holder)) WITHOUT ROWID"""
SAVE = "REPLACE INTO leases VALUES (?, ?, ?)"
LOAD = "SELECT row FROM leases WHERE name = ? AND holder = ''"
REMOVE = "DELETE FROM leases WHERE name = ? AND holder = ?"
LONGEST_ADDRESS = 100
_row = msgspec.json.Decoder(LeaseRow)
_news = msgspec.json.Decoder(dict[str, Due])


class SqliteLeaseBook(SharedBook):
    """For the processes of one machine that use the journal at `path`."""

    def __init__(self, path: Path, lasts_s: float | None = None) -> None:
        super().__init__(lasts_s)
        self._path = path.with_name(f"{path.name}.shared-{self._process.boot[:8] or 'boot'}")
        self._folder = Path(tempfile.mkdtemp(prefix="fanwise-"))  # for its owner only
        self._lock = -1
        self._connection: Connection | None = None
        self._lasts: Connection | None = None
        """To what survives a crash of the machine; None: not used yet."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._woken, self._waker = socket.socketpair()
        try:
            with journal_errors(path, opening=True):
                self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        for each in (self._socket, self._woken, self._waker):
            each.setblocking(False)
        address = str(self._folder / "news")
        if len(address) <= LONGEST_ADDRESS:  # else it learns of changes when it renews
            self._socket.bind(address)
            self.address = address
        self._lock = open_file(self._path.with_name(f"{self._path.name}.lock"))
        make_file(self._path)
        self._remove_void_leases()
        with self._alone():
            self._connection = connect(self._path, mode="rwc")
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = OFF")
            self._connection.execute(TABLE)

    def _remove_void_leases(self) -> None:
        """Files that nobody wrote since the boot are of earlier ones."""
        booted = time.time() - time.monotonic()
        start, _, _ = self._path.name.rpartition("-")
        for old in self._path.parent.glob(f"{start}-*"):
            with suppress(OSError):  # another process removed it, or it is somebody else's
                if old.stat().st_mtime < booted and not old.name.startswith(self._path.name):
                    old.unlink()

    @contextmanager
    def open(self, name: str) -> Iterator[SqliteLeaseTable]:
        """The rows of a shared cap, in a transaction."""
        assert self._connection is not None
        with journal_errors(self._path), self._alone(), transaction(self._connection):
            yield SqliteLeaseTable(self._connection, name)

    def update(self, name: str, change: Change[T], *, lasting: bool) -> T:
        """See `LeaseBook`. What lasts is in a file of its own that is written through."""
        connection = self._lasting() if lasting else self._connection
        assert connection is not None
        with journal_errors(self._path), self._alone(), transaction(connection):
            found = connection.execute(LOAD, (name,)).fetchone()
            now = time.time() if lasting else time.monotonic()
            kept, result = change(None if found is None else bytes(found[0]), now)
            connection.execute(SAVE, (name, "", kept))
        return result

    def _lasting(self) -> Connection:
        if self._lasts is None:
            start, _, _ = self._path.name.rpartition(".shared-")
            path = self._path.with_name(f"{start}.budgets")
            with journal_errors(path, opening=True), self._alone():
                make_file(path)
                self._lasts = connect(path, mode="rwc")
                self._lasts.execute("PRAGMA synchronous = FULL")
                self._lasts.execute(TABLE)
        return self._lasts

    @contextmanager
    def _alone(self) -> Iterator[None]:
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def tell(self, name: str, rows: Sequence[LeaseRow]) -> None:
        """A datagram that does not arrive is news that is learned at the next renewal."""
        for row in rows:
            if row.address:
                with suppress(OSError):
                    self._socket.sendto(msgspec.json.encode({row.holder: row.due}), row.address)

    def wait(self, timeout: float) -> News:
        """Wait until something changed, or `wake` is called."""
        poll = select.poll()  # `select` takes no descriptor above 1,023
        poll.register(self._socket, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        readable = {number for number, _ in poll.poll(max(0.0, timeout) * 1000)}
        if self._woken.fileno() in readable:
            with suppress(BlockingIOError):
                while self._woken.recv(4096):
                    pass
        found: dict[str, Due] = {}
        if self._socket.fileno() in readable:
            with suppress(BlockingIOError):
                while message := self._socket.recv(4096):
                    with suppress(msgspec.DecodeError):
                        found |= _news.decode(message)
        return found

    def wake(self) -> None:
        """Let `wait` return. From any thread."""
        with suppress(OSError):  # it is full, or closed: then it returns anyway
            self._waker.send(b".")

    def close(self) -> None:
        """Close the files; leases that were not released run out."""
        for connection in (self._connection, self._lasts):
            if connection is not None:
                connection.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
        for each in (self._socket, self._woken, self._waker):
            each.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class SqliteLeaseTable:
    """The rows of one shared cap, in a transaction. Time is that since the boot."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.now = time.monotonic()
        self._connection = connection
        self._name = name

    def rows(self) -> list[LeaseRow]:
        found = self._connection.execute("SELECT row FROM leases WHERE name = ?", (self._name,))
        return [_row.decode(row) for (row,) in found]

    def save(self, row: LeaseRow) -> None:
        encoded = msgspec.json.encode(row)
        self._connection.execute(SAVE, (self._name, row.holder, encoded))

    def remove(self, row: LeaseRow) -> None:
        self._connection.execute(REMOVE, (self._name, row.holder))
