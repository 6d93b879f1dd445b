"""Opening the journal to look up a run, without writing anything, not even a directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from fanwise.core.run_id import check_run_id
from fanwise.errors import RunNotFound, UsageError
from fanwise.journal.damage import check_spec, explain_damage
from fanwise.journal.open import journal_is_there, open_journal
from fanwise.journal.port import Journal, RunRecord

if TYPE_CHECKING:
    from fanwise.specs import System


@contextmanager
def recorded_run(location: str | None, run_id: str) -> Iterator[tuple[Journal, RunRecord]]:
    """The journal, read-only, and the run. `BadRunId`, `RunNotFound`, `JournalDamaged`."""
    check_run_id(run_id)
    if not journal_is_there(location):
        raise RunNotFound(run_id, ())
    with closing(open_journal(location, read_only=True)) as journal:
        run = journal.run(run_id)
        check_spec(journal, run)
        with explain_damage(journal, run_id):
            yield journal, run


@contextmanager
def recorded_version(
    location: str | None, reference: str
) -> Iterator[tuple[Journal, RunRecord, dict[str, Any]]]:
    """`RUN`, or `RUN@3`, `RUN@latest`, `RUN@baseline`: the version is an option of its system."""
    run_id, at, version = reference.partition("@")
    with recorded_run(location, run_id) as (journal, run):
        if at and not has_versions(run.kind):
            raise UsageError(f"runs of `{run.kind}` have no versions ({reference})")
        yield journal, run, {"version": version} if at else {}


def has_versions(kind: str) -> bool:
    """Whether the system of these runs keeps what they were before an edit."""
    from fanwise.specs.system import VersionedSystem

    return isinstance(installed(kind), VersionedSystem)


def installed(kind: str) -> System | None:
    """The system of these runs; None: it is not here, or a program made them."""
    from fanwise.specs import names, system

    return system(kind) if kind in names() else None
