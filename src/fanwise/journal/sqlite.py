"""The journal in an SQLite file.

SQLite needs nothing to be installed or started, and its file can be copied, attached and queried.
WAL lets readers (`fanwise show`) and the writer work without waiting for each other.
synchronous=FULL, because the default with WAL may lose the last commits when the power fails.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fanwise.journal import runs
from fanwise.journal.connect import PATIENCE_S, Connections, connect, journal_errors
from fanwise.journal.migrate import prepare
from fanwise.journal.port import Owner, RunRecord, RunSpec, Then, Write
from fanwise.journal.reads import Reads
from fanwise.journal.version import HISTORY, History
from fanwise.journal.writer import Writer


class SqliteJournal(Reads):
    """A journal for reading and writing. Close it; one that is not closed is flushed at exit."""

    def __init__(
        self, path: Path, *, patience: float = PATIENCE_S, history: History = HISTORY
    ) -> None:
        prepare(path, patience=patience, history=history)
        super().__init__(Connections(path, patience=patience), path)
        with journal_errors(path, opening=True):
            self._writer = Writer(connect(path, patience=patience), path)
        # Also runs at exit. A reference to the journal would keep it from being collected.
        self._close = weakref.finalize(self, _close, self._writer, self._connections)

    def create_run(self, run: RunRecord) -> RunRecord:
        return self._writer.call(partial(runs.create, run=run))

    def claim_run(
        self, run_id: str, owner: Owner, *, force: bool = False, spec: RunSpec | None = None
    ) -> RunRecord:
        """Become the owner of a run."""
        return self._writer.call(
            partial(runs.claim, run_id=run_id, owner=owner, force=force, spec=spec)
        )

    def submit(self, write: Write, then: Then | None = None) -> None:
        """Write this with the next batch."""
        self._writer.submit(write, then)

    def request_cancel(self, run_id: str) -> None:
        """Ask the process that executes the run to cancel it."""
        self._writer.call(partial(runs.request_cancel, run_id=run_id))
        self._writer.wake()

    def watch_cancel(self, run_id: str, on_cancel: Callable[[], None]) -> Callable[[], None]:
        """Call `on_cancel` once, from the writer's thread, after a cancel was requested."""
        end = self._writer.watches.add(run_id, on_cancel)
        self._writer.wake()
        return end

    def close(self) -> None:
        """Write what was submitted. `JournalNotWritable` if that failed and nobody was told."""
        self._close()


def _close(writer: Writer, connections: Connections) -> None:
    try:
        writer.stop()
    finally:
        connections.close()
