"""What is said at the end: how many, which failed and why, which may have run twice."""

from __future__ import annotations

from bisect import insort

import msgspec

from fanwise.core.outcome import Outcome
from fanwise.errors import RecordedError
from fanwise.journal.port import Journal
from fanwise.journal.take_first import take
from fanwise.processes import CommandResult
from fanwise.view.inputs import line_name
from fanwise.view.terminal_text import terminal_line

MOST = 10
"""Failures that are told of; `fanwise show` has them all."""


class Failure(msgspec.Struct, frozen=True, order=True):
    """An item that failed."""

    index: int
    why: str


class Tally:
    """Counts outcomes as they come, in bounded memory."""

    def __init__(self, together: int = 1) -> None:
        self._together = together
        """Lines that are one item."""
        self.counts = {"done": 0, "failed": 0, "cancelled": 0}
        self.twice: list[int] = []
        self.ran_twice = 0
        self._failures: list[Failure] = []

    def add(self, outcome: Outcome[CommandResult]) -> None:
        if outcome.status in self.counts:
            self.counts[outcome.status] += 1
        if outcome.status == "failed":
            insort(self._failures, Failure(outcome.index, why(outcome)))
            del self._failures[MOST:]
        if outcome.may_have_run_twice and outcome.status != "skipped":
            self.ran_twice += 1
            insort(self.twice, outcome.index)
            del self.twice[MOST:]

    def lines(self, journal: Journal, run_id: str) -> list[str]:
        """The end of the story; nothing if all went well."""
        return [*self._failed(journal, run_id), *self._twice(journal, run_id)]

    def _failed(self, journal: Journal, run_id: str) -> list[str]:
        number = self.counts["failed"]
        if not number:
            return []
        told = [
            f"  {self._line(journal, run_id, failure.index)}: {failure.why}"
            for failure in self._failures
        ]
        return [f"{number} failed:", *told, *_rest(number, run_id)]

    def _twice(self, journal: Journal, run_id: str) -> list[str]:
        if not self.ran_twice:
            return []
        head = (
            "had been started before and not finished; it may have run twice:"
            if self.ran_twice == 1
            else "had been started before and not finished; they may have run twice:"
        )
        told = [f"  {self._line(journal, run_id, index)}" for index in self.twice]
        return [f"{self.ran_twice} {head}", *told, *_rest(self.ran_twice, run_id)]

    def _line(self, journal: Journal, run_id: str, index: int, most: int = 60) -> str:
        name = line_name(index, self._together)
        for record in take(journal.inputs(run_id, index), 1):
            text = terminal_line(record.data.decode("utf-8", "backslashreplace"))
            return f"{name} ({text if len(text) <= most else text[: most - 1] + '…'})"
        return name


def why(outcome: Outcome[CommandResult]) -> str:
    """Why it failed, in a line: the exit code and the last line of stderr are in the error."""
    error = outcome.error
    text = error.text if isinstance(error, RecordedError) else str(error)
    return text.splitlines()[0] if text else type(error).__name__


def _rest(number: int, run_id: str) -> list[str]:
    return [f"  and {number - MOST} more: fanwise show {run_id}"] if number > MOST else []
