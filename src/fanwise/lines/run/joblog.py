"""`--joblog`: a row for each command that has ended, in the columns of GNU parallel.

Rows are written by a subscriber, when the outcome is on disk. If a kill comes in between, a resume
adds the missing rows.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from fanwise.core.outcome import Outcome
from fanwise.errors import OutputNotWritable, UsageError
from fanwise.kernel import events
from fanwise.lines.spec.map_spec import LineItem, MapSpec
from fanwise.processes import CommandResult
from fanwise.view.terminal_text import terminal_line
from fanwise.view.text_file import text_file

HEAD = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
HERE = ":"
"""How GNU parallel writes the local host."""


class JobLog:
    """A subscriber; `line` returns the input of an item, `wall` the time of day of an event.

    `slots` has the slot of each item that ran. Of one that ran earlier it is not known.
    """

    def __init__(
        self,
        spec: MapSpec,
        path: Path,
        line: Callable[[int], bytes],
        wall: Callable[[float], float],
        slots: dict[int, int],
        *,
        resumed: bool,
    ) -> None:
        self._command = spec.commands()
        self._line = line
        self._wall = wall
        self._slots = slots
        self._known = _sequence_numbers(path) if resumed else set()
        self._starts: dict[int, float] = {}
        self._file = _open(path, resumed=resumed)
        self.problem: OutputNotWritable | None = None
        """The error because of which rows are missing."""
        if not resumed or path.stat().st_size == 0:
            self._write(HEAD)

    def __call__(self, event: events.Event) -> None:
        """Remember when an attempt began; write the row when the item has ended."""
        if isinstance(event, events.AttemptEnded):
            self._starts[event.index] = self._wall(event.at) - event.attempt.ran_s
        elif isinstance(event, events.ItemEnded):
            outcome = event.outcome
            start = self._starts.pop(outcome.index, None)
            slot = self._slots.pop(outcome.index, "{%}")
            if outcome.status not in ("done", "failed"):
                return
            if not outcome.recorded or outcome.index + 1 not in self._known:
                self._write(self._row(outcome, start, slot))

    def close(self) -> None:
        with suppress(OutputNotWritable):  # reported already, as `problem`
            self._file.close()

    def _write(self, text: str) -> None:
        try:
            self._file.write(text)
            self._file.flush()
        except OutputNotWritable as error:  # a subscriber cannot end the run; see `problem`
            self.problem = error

    def _row(self, outcome: Outcome[CommandResult], start: float | None, slot: int | str) -> str:
        result = outcome.value or CommandResult(None)
        lost = -1 if result.signal is None else 0
        command = self._command(LineItem(outcome.index, self._line(outcome.index)), slot)
        cells = (
            str(outcome.index + 1),
            HERE,
            f"{start or 0.0:.3f}",
            f"{outcome.attempts[-1].ran_s if outcome.attempts else 0.0:.3f}",
            "0",
            str(result.stdout.size),
            str(lost if result.exit_code is None else result.exit_code),
            str(result.signal or 0),
            terminal_line(shlex.join(map(os.fsdecode, command.exec_argv()))),
        )
        return "\t".join(cells) + "\n"


def _open(path: Path, *, resumed: bool) -> IO[str]:
    try:
        return text_file(path, str(path), append=resumed)
    except OSError as error:
        raise UsageError(f"cannot write the job log {path}: {error.strerror}") from error


def _sequence_numbers(path: Path) -> set[int]:
    """The numbers of the rows that are there."""
    with suppress(OSError):
        rows = path.read_text("utf-8", "replace").splitlines()[1:]
        return {int(row.partition("\t")[0]) for row in rows if row[:1].isdigit()}
    return set()
