"""What the calls of each cell came to: those of its items, and those of fan-outs inside them.

Fed by the events of the run, and by the journal for what earlier executions did.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fanwise.core.outcome import Attempt
from fanwise.journal.port import Journal
from fanwise.kernel.events import AttemptEnded
from fanwise.kernel.recorded_outcomes import attempt_of
from fanwise.models.reply_cache import is_hit

FAN_OUT = "cells"
"""The name of the fan-out whose items are the steps and the scores of cells."""
NANO, PICO = 1e9, 1e12


class Spent(msgspec.Struct, gc=False):
    """The calls of one cell, summed up. None: of at least one call nobody knows.

    Seconds and dollars are summed as whole numbers: the order of the calls changes no bit.
    """

    calls: int = 0
    cached: int = 0
    first_token_s: float | None = None
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    queued_ns: int = 0
    ran_ns: int = 0
    backoff_ns: int = 0
    lag_ns: int = 0
    in_flight: int = 0
    pico_usd: int = 0
    unpriced: int = 0
    """Attempts whose dollars nobody knows."""

    @property
    def usd(self) -> float | None:
        """Dollars; None: of at least one attempt they are unknown."""
        return None if self.unpriced else self.pico_usd / PICO

    @property
    def measures(self) -> dict[str, Any]:
        """As `CellCalls` has them."""
        return {
            "calls": self.calls,
            "cached": self.cached,
            "queued_s": self.queued_ns / NANO,
            "ran_s": self.ran_ns / NANO,
            "backoff_s": self.backoff_ns / NANO,
            "first_token_s": self.first_token_s,
            "lag_s": self.lag_ns / NANO,
            "in_flight": self.in_flight,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "usd": self.usd,
            "usd_known": self.pico_usd / PICO,
        }

    def add(self, attempt: Attempt) -> None:
        if attempt.usage is not None and not attempt.usage.requests:  # nobody was asked
            self.cached += is_hit(attempt.call, attempt.usage.tokens)
            return
        self.calls += 1
        self.queued_ns += round(attempt.queued_s * NANO)
        self.ran_ns += round(attempt.ran_s * NANO)
        self.backoff_ns += round(attempt.backoff_s * NANO)
        self.lag_ns += round(attempt.lag_s * NANO)
        self.in_flight = max(self.in_flight, attempt.in_flight)
        first, known = attempt.first_token_s, self.first_token_s
        if first is not None:
            self.first_token_s = first if known is None else min(first, known)
        usage = attempt.usage
        if usage is None:
            self.input_tokens = self.output_tokens = None
            self.unpriced += 1
            return
        self.input_tokens = _plus(self.input_tokens, usage.input_tokens)
        self.output_tokens = _plus(self.output_tokens, usage.output_tokens)
        self.pico_usd += round((usage.usd or 0.0) * PICO)
        self.unpriced += usage.usd is None


def _plus(total: int | None, more: int | None) -> int | None:
    return None if total is None or more is None else total + more


class Spending:
    """By cell and by what for. A subscriber of the run."""

    def __init__(self, path: str = FAN_OUT) -> None:
        """`path`: that of the fan-out whose items are steps and scores."""
        self._path = path
        self._answers: dict[str, Spent] = {}
        self._scores: dict[str, Spent] = {}

    def __call__(self, event: AttemptEnded) -> None:
        """Count a call, if it is one of a cell."""
        self.add(event.path, event.key, event.attempt)

    def add(self, path: str, key: str, attempt: Attempt) -> None:
        """An attempt of a call, in the fan-out at that path."""
        if path == self._path or path.startswith(f"{self._path}/"):
            rest = path[len(self._path) + 1 :]
            cell, _, what = (rest or key).partition(" ")
            kept = self._scores if what.startswith("score ") else self._answers
            kept.setdefault(cell, Spent()).add(attempt)

    def read(self, journal: Journal, run_id: str) -> None:
        """What earlier executions recorded."""
        for fan_out in journal.fan_outs(run_id):
            if f"{fan_out.path}/".startswith(f"{self._path}/"):
                for row in journal.attempts(fan_out.id):
                    if row.call is not None:
                        self.add(fan_out.path, row.key, attempt_of(row))

    def on_answer(self, cell: str) -> Spent:
        """For the answer of the cell, its steps together."""
        return self._answers.get(cell) or Spent()

    def on_scores(self, cell: str) -> Spent:
        """For its scores: judges."""
        return self._scores.get(cell) or Spent()
