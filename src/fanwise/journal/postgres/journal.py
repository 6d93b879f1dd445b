"""The journal on a PostgreSQL server.

The same port, tables, queries and writer as for SQLite. What differs: how rows are written
(`copies.py`), who owns a run (`session.py`), and how a cancel arrives (`listener.py`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from fanwise.journal import runs
from fanwise.journal.port import Owner, RunRecord, RunSpec
from fanwise.journal.postgres.connect import PostgresConnections, postgres_errors
from fanwise.journal.postgres.leases import PostgresLeaseBook
from fanwise.journal.postgres.listener import PostgresListener
from fanwise.journal.postgres.migrate import check_readable, prepare
from fanwise.journal.postgres.session import (
    CANCEL_CHANNEL,
    IDLE_S,
    PATIENCE_S,
    PostgresSession,
    locked_runs,
)
from fanwise.journal.read_only import RefusesWrites
from fanwise.journal.reads import Reads
from fanwise.journal.version import HISTORY, History
from fanwise.journal.writer import WrittenJournal


class _SeesOwners(Reads):
    """A run's owner is shown only while its session is there."""

    def run(self, run_id: str) -> RunRecord:
        """One run. Raises `RunNotFound`."""
        with self._reading() as connection:
            return _with_live_owner(runs.get(connection, run_id), locked_runs(connection))

    def runs(self, *, specs: bool = True) -> list[RunRecord]:
        """All runs, the newest first."""
        with self._reading() as connection:
            locked = locked_runs(connection)
            found = runs.newest_first(connection, specs=specs)
            return [_with_live_owner(run, locked) for run in found]


def _with_live_owner(run: RunRecord, locked: set[int]) -> RunRecord:
    return run if run.owner is None or run.number in locked else replace(run, owner=None)


class PostgresJournal(_SeesOwners, WrittenJournal):
    """A journal for reading and writing. Close it; one that is not closed is flushed at exit."""

    def __init__(
        self,
        address: str,
        *,
        patience: float = PATIENCE_S,
        idle: float = IDLE_S,
        history: History = HISTORY,
    ) -> None:
        self._address = address
        with postgres_errors(address, opening=True):
            prepare(address, history)
            self._session = PostgresSession(address, patience=patience, idle=idle)
        super().__init__(PostgresConnections(address), self._session)
        self._listener = PostgresListener(address, CANCEL_CHANNEL, self._writer.wake)
        self._stop_listening = weakref.finalize(self, self._listener.stop)

    def lease_book(self) -> PostgresLeaseBook:
        return PostgresLeaseBook(self._address)

    def create_run(self, run: RunRecord) -> RunRecord:
        return self._writer.order(lambda: self._session.create(run))

    def claim_run(
        self, run_id: str, owner: Owner, *, force: bool = False, spec: RunSpec | None = None
    ) -> RunRecord:
        """Become the owner of a run, on whatever host it ran. `force`: even from a live one."""
        return self._writer.order(
            lambda: self._session.claim(run_id, owner, force=force, spec=spec)
        )

    def request_cancel(self, run_id: str) -> None:
        """Ask the process that executes the run to cancel it, and notify it."""

        def request(connection: runs.JournalConnection) -> None:
            runs.request_cancel(connection, run_id)
            connection.execute("SELECT pg_notify(?, ?)", (CANCEL_CHANNEL, run_id))

        self._writer.call(request)
        self._writer.wake()

    def request_caps(self, run_id: str, caps: Mapping[str, int]) -> None:
        """Ask the process that executes the run for these limits, and notify it."""

        def request(connection: runs.JournalConnection) -> None:
            runs.request_caps(connection, run_id, caps)
            connection.execute("SELECT pg_notify(?, ?)", (CANCEL_CHANNEL, run_id))

        self._writer.call(request)
        self._writer.wake()

    def watch_cancel(self, run_id: str, on_cancel: Callable[[], None]) -> Callable[[], None]:
        """Call `on_cancel` once, from the writer's thread, after a cancel was requested."""
        self._listener.start()
        return super().watch_cancel(run_id, on_cancel)

    def watch_caps(
        self, run_id: str, on_caps: Callable[[dict[str, int]], None]
    ) -> Callable[[], None]:
        """Call `on_caps` from the writer's thread after other limits were asked for."""
        self._listener.start()
        return super().watch_caps(run_id, on_caps)

    def close(self) -> None:
        """Write what was submitted. `JournalNotWritable` if that failed and nobody was told."""
        self._stop_listening()
        super().close()


class ReadOnlyPostgresJournal(_SeesOwners, RefusesWrites):
    """A journal for reading only. Its user needs no more than SELECT."""

    def __init__(self, address: str) -> None:
        super().__init__(PostgresConnections(address, read_only=True))
        try:
            with self._reading() as connection:
                check_readable(connection, self.location)
        except BaseException:  # The caller never gets this journal, so nobody else closes it.
            self.close()
            raise
