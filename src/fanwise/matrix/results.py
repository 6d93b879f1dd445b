"""What came of the cells."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from fanwise.core.outcome import Attempt, Outcome
from fanwise.errors import one_line
from fanwise.matrix.cells import Cell
from fanwise.matrix.data import Scored
from fanwise.matrix.work import Answer


class Score(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What one scorer said of an answer, or why it could not."""

    score: float | None = None
    reason: str | None = None
    error: str | None = None


class CellResult(msgspec.Struct, frozen=True, gc=False):
    """A cell that was run, or read from the journal."""

    cell: Cell
    status: Literal["done", "failed"]
    answer: Answer | None
    """That of the last step."""
    steps: Mapping[str, Answer]
    scores: Mapping[str, Score]
    error: str | None = None
    queued_s: float = 0.0
    ran_s: float = 0.0
    backoff_s: float = 0.0
    first_token_s: float | None = None
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    usd: float | None = 0.0
    """None: the price of at least one call is unknown."""

    @staticmethod
    def made(
        cell: Cell,
        outcomes: Sequence[Outcome[Any]],
        answers: Mapping[str, Answer],
        scores: Mapping[str, Score],
    ) -> CellResult:
        """Of the outcomes of its steps."""
        last = outcomes[-1]
        calls = [each for outcome in outcomes for each in outcome.attempts if each.call]
        first = next((each.first_token_s for each in calls if each.first_token_s), None)
        return CellResult(
            cell,
            "done" if last.ok else "failed",
            last.value if last.ok else None,
            dict(answers),
            dict(scores),
            None if last.ok else _said(last),
            sum(each.queued_s for each in calls),
            sum(each.ran_s for each in calls),
            sum(each.backoff_s for each in calls),
            first,
            _sum(calls, "input_tokens"),
            _sum(calls, "output_tokens"),
            _dollars(calls),
        )

    @property
    def scored(self) -> Scored:
        """As the analysis takes it."""
        return Scored(
            self.cell.key,
            self.cell.axes,
            self.status,
            {name: score.score for name, score in self.scores.items()},
            self.queued_s,
            self.ran_s,
            self.backoff_s,
            self.first_token_s,
            self.input_tokens,
            self.output_tokens,
            self.usd,
            self.error,
        )

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return {**self.cell.axes, **plain, "cell": self.cell.key}


def digest(results: Iterable[CellResult]) -> str:
    """Of what was answered and scored, whatever the order and however long it took."""
    whole = hashlib.sha256()
    for each in sorted(results, key=lambda result: result.cell.key):
        scores = msgspec.to_builtins(each.scores)
        answer = None if each.answer is None else [each.answer["text"], each.answer["value"]]
        parts = [each.cell.key, each.status, answer, scores]
        whole.update(msgspec.json.encode(parts, order="sorted"))
    return whole.hexdigest()


def _said(outcome: Outcome[Any]) -> str:
    error = outcome.error
    return outcome.status if error is None else one_line(error)


def _sum(calls: Sequence[Attempt], name: str) -> int | None:
    total = 0
    for call in calls:
        usage = call.usage
        number = None if usage is None else getattr(usage, name)
        if number is None and (usage is None or usage.requests):
            return None
        total += int(number or 0)
    return total


def _dollars(calls: Sequence[Attempt]) -> float | None:
    found = [None if call.usage is None else call.usage.usd for call in calls]
    return None if any(usd is None for usd in found) else sum(usd or 0.0 for usd in found)
