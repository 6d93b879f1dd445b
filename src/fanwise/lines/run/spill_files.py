"""The files of long outputs: those that no recorded outcome refers to are removed.

A command that is killed with fanwise leaves the file that it was writing; one that fails and is
tried again leaves that of each try. Nobody is told of them, and they are as long as they please.

What this execution was told of is known without asking. Only if there are other files is the
journal read, for it has outcomes that nobody was told of here: those behind a halt.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fanwise.core.outcome import Outcome
from fanwise.journal.codec import JSON
from fanwise.journal.port import Journal
from fanwise.processes import CommandResult


class SpillFiles:
    """The files in the directory of one run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._told: set[str] = set()

    def add(self, outcome: Outcome[CommandResult]) -> None:
        """An outcome that is on disk."""
        if outcome.value is not None:
            self._told.update(_names(outcome.value))

    def remove_forgotten(self, journal: Journal, run_id: str) -> None:
        """At the end of an execution, when all that ended is on disk and nothing runs."""
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
    """By name: the directory may have been given in another way before."""
    for capture in (result.stdout, result.stderr):
        if capture.path is not None:
            yield Path(capture.path).name
