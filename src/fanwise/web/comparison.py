"""Runs and versions side by side, and the versions of a run over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fanwise.errors import UsageError
from fanwise.journal.port import RunRecord
from fanwise.journal.read_only import RefusesWrites
from fanwise.specs.system import ComparedRun, ComparingSystem, Report, VersionedSystem
from fanwise.view.system_text import system_of_kind
from fanwise.view.table import Row

MOST_OTHERS = 200
"""Runs that can be chosen to compare with: the newest."""


class ComparedWith(NamedTuple):
    """What a run can be compared with."""

    columns: Sequence[str]
    versions: Sequence[Row]
    """Its own versions, the oldest first."""
    runs: Sequence[str]
    """Others of its kind."""


def compared_with(journal: RefusesWrites, run: RunRecord) -> ComparedWith | None:
    """None: runs of this kind cannot be compared."""
    system = system_of_kind(run.kind)
    if not isinstance(system, ComparingSystem):
        return None
    others = [r.id for r in journal.runs(specs=False) if r.kind == run.kind and r.id != run.id]
    if not isinstance(system, VersionedSystem):
        return ComparedWith((), (), others[:MOST_OTHERS])
    table = system.versions(journal, run)
    return ComparedWith(list(table.columns), list(table.rows), others[:MOST_OTHERS])


def comparison(journal: RefusesWrites, references: Sequence[str]) -> Report:
    """Of `RUN` or `RUN@2`, each with the first. `UsageError`, `RunNotFound`."""
    if len(references) < 2 or len(set(references)) < len(references):
        raise UsageError("give at least two runs, each once", "Choose another run")
    sides: list[ComparedRun] = []
    system: ComparingSystem | None = None
    for reference in references:
        run_id, at, version = reference.partition("@")
        run = journal.run(run_id)
        found = system_of_kind(run.kind)
        if not isinstance(found, ComparingSystem):
            raise UsageError(f"runs of `{run.kind}` cannot be compared", "Choose another run")
        system = found
        sides.append(found.compared_run(journal, run, **({"version": version} if at else {})))
    assert system is not None
    return system.compare(sides)
