"""Files of long outputs: removes those that no recorded outcome refers to.

A command that is killed with fanwise leaves the file it was writing; one that is retried leaves a
file for each attempt. They may be large.

The files of outcomes seen by this execution are known. Only if there are others is the journal
read, since it may have outcomes that were not seen here: those after a halt.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fanwise.core.outcome import Outcome
from fanwise.journal.codec import JSON
from fanwise.journal.port import Journal
from fanwise.processes import CommandResult


class SpillFiles:
    """The files of one run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._told: set[str] = set()

    def add(self, outcome: Outcome[CommandResult]) -> None:
        """Keep the files of this outcome."""
        if outcome.value is not None:
            self._told.update(_names(outcome.value))

    def remove_forgotten(self, journal: Journal, run_id: str) -> None:
        """Remove the other files; call it when nothing runs any more."""
        left = {path.name: path for path in self._folder.glob("*.out")}
        for name in self._told:
            left.pop(name, None)
        if left:
            for name in _recorded(journal, run_id):
                left.pop(name, None)
        for path in left.values():
            path.unlink(missing_ok=True)


def _recorded(journal: Journal, run_id: str) -> Iterator[str]:
    for fan_out in journal.fan_outs(run_id):
        for item in journal.items(fan_out.id):
            if item.value is not None:
                yield from _names(CommandResult.from_json(JSON.decode(item.value)))


def _names(result: CommandResult) -> Iterator[str]:
    """File names only: an earlier execution may have spelt the directory differently."""
    for capture in (result.stdout, result.stderr):
        if capture.path is not None:
            yield Path(capture.path).name
