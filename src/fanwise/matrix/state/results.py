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
from fanwise.matrix.stats.data import CellCalls, Fault, Scored

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


class CellResult(CellCalls, frozen=True, gc=True):
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
    scoring_usd: float | None = 0.0
    """What judges cost."""

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
        spent = spending.on_answer(definition.cell).measures
        if not spent["calls"]:  # the time of its steps is all that is known
            spent["ran_s"] = sum(each.ran_s for each in outcomes)
        return CellResult(
            definition.cell,
            definition.as_cell(),
            "done" if last.ok else "failed",
            last.value if last.ok else None,
            {name: each.unwrap() for name, each in zip(definition.steps, done, strict=False)},
            dict(scores),
            None if last.ok else _said(last),
            None if last.ok else fault_of(last.error),
            spending.on_scores(definition.cell).usd,
            **spent,
        )

    def scored(self, scorers: Mapping[str, None]) -> Scored:
        """As the analysis takes it: a cell that failed has all scores too, each unknown."""
        scores = {**scorers, **{name: score.score for name, score in self.scores.items()}}
        return Scored(
            self.cell.key, self.cell.axes, self.status, scores, self.error, self.fault,
            **self.measures,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        scores = {name: msgspec.to_builtins(score) for name, score in self.scores.items()}
        plain = msgspec.structs.asdict(self)  # answers are plain, and large: they are not copied
        del plain["id"]
        return {**self.cell.axes, **plain, "scores": scores, "cell": self.id}


def scored_cells(
    results: Iterable[CellResult], waiting: Iterable[Cell], scorers: Iterable[str]
) -> list[Scored]:
    """The cells of a matrix as the analysis takes them, those that wait too."""
    none = dict.fromkeys(scorers)
    ended = [each.scored(none) for each in results]
    return ended + [Scored(each.key, each.axes, "waiting", none) for each in waiting]


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
