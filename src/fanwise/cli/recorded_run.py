"""Opening the journal to look up a run, without writing anything, not even a directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fanwise.core.run_id import check_run_id
from fanwise.errors import RunNotFound
from fanwise.journal.damage import check_spec, explain_damage
from fanwise.journal.open import journal_is_there, open_journal
from fanwise.journal.port import Journal, RunRecord


@contextmanager
def recorded_run(location: str | None, run_id: str) -> Iterator[tuple[Journal, RunRecord]]:
    """The journal, read-only, and the run. `BadRunId`, `RunNotFound`, `JournalDamaged`."""
    check_run_id(run_id)
    if not journal_is_there(location):
        raise RunNotFound(run_id)
    journal = open_journal(location, read_only=True)
    try:
        run = journal.run(run_id)
        check_spec(journal, run)
        with explain_damage(journal, run_id):
            yield journal, run
    finally:
        journal.close()
