"""The book of shared caps in memory, for tests: for the runs of one process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fanwise.core.shares import Due
from fanwise.journal.leases import Change, LeaseRow, News, SharedBook, T


class MemoryLeases:
    """The rows of all shared caps, and the books that use them."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.rows: dict[str, dict[str, LeaseRow]] = {}
        self.books: dict[str, MemoryLeaseBook] = {}
        self.kept: dict[tuple[str, bool], bytes] = {}


class MemoryLeaseBook(SharedBook):
    def __init__(self, leases: MemoryLeases, lasts_s: float | None = None) -> None:
        super().__init__(lasts_s)
        self.address = str(id(self))
        self._leases = leases
        self._news: dict[str, Due] = {}
        self._woken = threading.Event()
        leases.books[self.address] = self

    @contextmanager
    def open(self, name: str) -> Iterator[MemoryLeaseTable]:
        with self._leases.lock:
            yield MemoryLeaseTable(self._leases.rows.setdefault(name, {}))

    def update(self, name: str, change: Change[T], *, lasting: bool) -> T:
        with self._leases.lock:
            now = time.time() if lasting else time.monotonic()
            kept, result = change(self._leases.kept.get((name, lasting)), now)
            self._leases.kept[name, lasting] = kept
        return result

    def tell(self, name: str, rows: Sequence[LeaseRow]) -> None:
        for row in rows:
            if (book := self._leases.books.get(row.address)) is not None:
                book._news[row.holder] = row.due
                book.wake()

    def wait(self, timeout: float) -> News:
        self._woken.wait(max(0.0, timeout))
        self._woken.clear()
        with self._leases.lock:
            found, self._news = self._news, {}
        return found

    def wake(self) -> None:
        self._woken.set()

    def close(self) -> None:
        self._leases.books.pop(self.address, None)


class MemoryLeaseTable:
    def __init__(self, rows: dict[str, LeaseRow]) -> None:
        self.now = time.monotonic()
        self._rows = rows

    def rows(self) -> list[LeaseRow]:
        return list(self._rows.values())

    def save(self, row: LeaseRow) -> None:
        self._rows[row.holder] = row

    def remove(self, row: LeaseRow) -> None:
        self._rows.pop(row.holder, None)
