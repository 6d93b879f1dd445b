"""An SQLite journal for reading only.

It is separate from `sqlite.py`, so that commands that only read need not import the writer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from fanwise.errors import JournalNotWritable, JournalUnreadable
from fanwise.journal.connect import PATIENCE_S, SqliteConnections
from fanwise.journal.port import Owner, RunRecord, RunSpec, Then, Write
from fanwise.journal.reads import Reads
from fanwise.journal.version import check_readable


class RefusesWrites(Reads):
    """The writing half of a journal that only reads."""

    def create_run(self, run: RunRecord) -> RunRecord:
        raise self._refusal()

    def claim_run(
        self, run_id: str, owner: Owner, *, force: bool = False, spec: RunSpec | None = None
    ) -> RunRecord:
        raise self._refusal()

    def submit(self, write: Write, then: Then | None = None) -> None:
        if then is None:
            raise self._refusal()
        then(self._refusal())

    def request_cancel(self, run_id: str) -> None:
        raise self._refusal()

    def watch_cancel(self, run_id: str, on_cancel: Callable[[], None]) -> Callable[[], None]:
        raise self._refusal()

    def request_caps(self, run_id: str, caps: Mapping[str, int]) -> None:
        raise self._refusal()

    def watch_caps(
        self, run_id: str, on_caps: Callable[[dict[str, int]], None]
    ) -> Callable[[], None]:
        raise self._refusal()

    def lease_book(self) -> NoReturn:
        raise self._refusal()

    def close(self) -> None:
        """Close the connections."""
        self._source.close()

    def _refusal(self) -> JournalNotWritable:
        return JournalNotWritable(self.location, "it was opened for reading only")


class ReadOnlyJournal(RefusesWrites):
    """A journal for reading only. The file and its directory need not be writable."""

    def __init__(self, path: Path, *, patience: float = PATIENCE_S) -> None:
        if not path.is_file():
            raise JournalUnreadable(str(path), "there is no journal")
        self._path = path
        super().__init__(SqliteConnections(path, mode="ro", patience=patience))
        try:
            self._check_readable()
        except BaseException:  # The caller never gets this journal, so nobody else closes it.
            self.close()
            raise

    def _check_readable(self) -> None:
        try:
            self._check_version()
        except JournalNotWritable:
            self._read_without_locks()

    def _read_without_locks(self) -> None:
        """For a directory where SQLite cannot create its own files beside the journal."""
        self._source.close()
        wal = Path(f"{self._path}-wal")
        if wal.exists() and wal.stat().st_size:
            problem = f"its latest writes are in {wal.name}, and its directory is not writable"
            raise JournalUnreadable(self.location, problem)
        self._source = SqliteConnections(self._path, mode="immutable")
        self._check_version()

    def _check_version(self) -> None:
        with self._source.reading() as connection:
            check_readable(connection, self._path)
