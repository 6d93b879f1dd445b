"""Outcomes counted as they come, in bounded memory: how many, which failed, which ran twice."""

from __future__ import annotations

from bisect import insort

import msgspec

from fanwise.core.outcome import Outcome
from fanwise.errors import RecordedError
from fanwise.processes import CommandResult

MOST = 10
"""How many failures are kept; `fanwise show` lists all of them."""


class Failure(msgspec.Struct, frozen=True, order=True):
    """An item that failed."""

    index: int
    why: str


class Tally:
    """The first failures, and the first items that may have run twice, in item order."""

    def __init__(self) -> None:
        self.counts = {"done": 0, "failed": 0, "cancelled": 0}
        self.failures: list[Failure] = []
        self.twice: list[int] = []
        self.ran_twice = 0
        """How many may have run twice."""

    def add(self, outcome: Outcome[CommandResult]) -> None:
        if outcome.status in self.counts:
            self.counts[outcome.status] += 1
        if outcome.status == "failed":
            insort(self.failures, Failure(outcome.index, _why(outcome)))
            del self.failures[MOST:]
        if outcome.may_have_run_twice and outcome.status != "skipped":
            self.ran_twice += 1
            insort(self.twice, outcome.index)
            del self.twice[MOST:]

    def end_at(self, index: int) -> None:
        """Count what a loop would have run: the lines up to this one, which failed."""
        self.counts = {"done": index, "failed": 1, "cancelled": 0}
        self.failures = [each for each in self.failures if each.index <= index]


def _why(outcome: Outcome[CommandResult]) -> str:
    """The first line of the error: it has the exit code and the last line of stderr."""
    error = outcome.error
    text = error.text if isinstance(error, RecordedError) else str(error)
    return text.splitlines()[0] if text else type(error).__name__
