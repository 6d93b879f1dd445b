"""What came of the cells."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from fanwise.core.outcome import Outcome
from fanwise.errors import (
    BadOutput,
    BudgetExceeded,
    JournalError,
    ModelError,
    ModelNotReady,
    ModelRefused,
    NotRecorded,
    RateLimited,
    UnknownCost,
    UnknownModel,
    WorkspaceError,
    one_line,
    refused_by_budget,
)
from fanwise.matrix.answers.steps import Answer
from fanwise.matrix.cells.cell import Cell
from fanwise.matrix.state.definitions import Definition
from fanwise.matrix.state.spending import Spending
from fanwise.matrix.stats.data import Fault, Scored

OWN = (BadOutput, ModelRefused)
"""Model errors that say something about what was asked."""
FROM_OUTSIDE = (
    ModelError, RateLimited, BudgetExceeded, UnknownCost, UnknownModel, ModelNotReady, NotRecorded,
    JournalError, WorkspaceError, TimeoutError, ConnectionError, MemoryError,
)  # fmt: skip


class Score(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What one scorer said of an answer, or why it could not."""

    score: float | None = None
    reason: str | None = None
    error: str | None = None


def unaffordable(outcome: Outcome[Any]) -> bool:
    """Whether the budget had no room for it. It was not tried, so it has not failed."""
    return outcome.status == "failed" and refused_by_budget(outcome.error)


def fault_of(error: BaseException | None) -> Fault:
    """Whose fault a failure is: the strategy's own, or the provider's or this machine's.

    A function that raised, an answer that does not match its schema and a refusal are wrong
    answers. Where the service was out of reach or gave up, nothing is known of the answer.
    """
    if isinstance(error, BaseExceptionGroup):
        faults = {fault_of(each) for each in error.exceptions}
        return "provider" if "provider" in faults else "strategy"
    if isinstance(error, OWN):
        return "strategy"
    return "provider" if error is None or isinstance(error, FROM_OUTSIDE) else "strategy"


def score_of(outcome: Outcome[Any]) -> Score:
    """Of the outcome of a score's item."""
    if not outcome.ok:
        return Score(error=_said(outcome))
    value: Mapping[str, Any] = outcome.unwrap()
    return Score(value["score"], value["reason"])


class CellResult(msgspec.Struct, frozen=True):
    """A cell that was run, or read from the journal."""

    id: str
    """Its key, and which time it is run anew: as `--rerun` takes it."""
    cell: Cell
    status: Literal["done", "failed"]
    answer: Answer | None
    """That of the last step."""
    steps: Mapping[str, Answer]
    scores: Mapping[str, Score]
    error: str | None = None
    fault: Fault | None = None
    """Of a cell that failed: whether its strategy did, or the provider or this machine."""
    calls: int = 0
    """Attempts of calls, failed ones too."""
    cached: int = 0
    """Of the calls, how many the cache of replies answered: then `ran_s` is no latency."""
    queued_s: float = 0.0
    ran_s: float = 0.0
    backoff_s: float = 0.0
    first_token_s: float | None = None
    """The shortest of its calls."""
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    usd: float | None = 0.0
    """None: that of at least one attempt is unknown."""
    usd_known: float = 0.0
    """Of the attempts of which it is known."""
    scoring_usd: float | None = 0.0
    """What judges cost."""
    lag_s: float = 0.0
    """How late this process was: so much of `ran_s` may be its own, and not the model's."""
    in_flight: int = 0
    """The most calls that this process had in flight when it was late."""

    @staticmethod
    def made(
        definition: Definition,
        outcomes: Sequence[Outcome[Any]],
        scores: Mapping[str, Score],
        spending: Spending,
    ) -> CellResult:
        """Of the outcomes of its steps, in order, up to the one that failed."""
        last = outcomes[-1]
        done = [outcome for outcome in outcomes if outcome.ok]
        spent = spending.on_answer(definition.cell)
        # Without calls that the kernel saw, the time of a step is all that is known.
        ran_s = spent.ran_s if spent.calls else sum(each.ran_s for each in outcomes)
        return CellResult(
            definition.cell,
            definition.as_cell(),
            "done" if last.ok else "failed",
            last.value if last.ok else None,
            {name: each.unwrap() for name, each in zip(definition.steps, done, strict=False)},
            dict(scores),
            None if last.ok else _said(last),
            None if last.ok else fault_of(last.error),
            spent.calls,
            spent.cached,
            spent.queued_s,
            ran_s,
            spent.backoff_s,
            spent.first_token_s,
            spent.input_tokens,
            spent.output_tokens,
            spent.usd,
            spent.usd_known,
            spending.on_scores(definition.cell).usd,
            spent.lag_s,
            spent.in_flight,
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
            self.usd_known,
            self.error,
            self.fault,
            self.cached > 0,
            self.lag_s,
            self.in_flight,
        )

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        scores = {name: msgspec.to_builtins(score) for name, score in self.scores.items()}
        plain = msgspec.structs.asdict(self)  # answers are plain, and large: they are not copied
        del plain["id"]
        return {**self.cell.axes, **plain, "scores": scores, "cell": self.id}


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
