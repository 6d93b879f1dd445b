"""Which step or score of which cell is next: a state machine, without clock, files or processes.

A cell is one item for each step and one for each score, because each may be lost by itself: a
scorer that fails does not lose the answer, and a second step that fails does not lose the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from fanwise.core.counts import Counts
from fanwise.core.outcome import Outcome
from fanwise.core.ready_queue import QueueLimit
from fanwise.matrix.answers.steps import Answer
from fanwise.matrix.cells.cell import Cell
from fanwise.matrix.spec.compile import Compiled
from fanwise.matrix.state.definitions import Definition
from fanwise.matrix.state.queue_limits import QueueLimits
from fanwise.matrix.state.results import CellResult, Score, score_of, unaffordable
from fanwise.matrix.state.spending import Spending


class CellItem(msgspec.Struct, frozen=True, gc=False):
    """One item: a step of a cell, or a score of its answer."""

    kind: Literal["step", "score"]
    cell: Cell
    number: int
    key: str
    limit: QueueLimit


class CellBoard:
    """`begin`, then `take` the outcome of each item that it gave, until it is `over`.

    `needed`: whether a cell that has not begun shall still run. `on_cell` is called when one ended.
    """

    def __init__(
        self,
        compiled: Compiled,
        definitions: Mapping[str, Definition],
        spending: Spending,
        cells: Sequence[Cell],
        limits: QueueLimits,
        *,
        needed: Callable[[Cell], bool] = lambda _: True,
        on_cell: Callable[[CellResult], None] = lambda _: None,
    ) -> None:
        self._compiled = compiled
        self._definitions = definitions
        self._spending = spending
        self._cells = cells
        self.limits = limits
        self._needed = needed
        self._on_cell = on_cell
        self._open: dict[str, _Open] = {}
        self._left = len(cells)
        self._failed = 0
        self.results: dict[str, CellResult] = {}
        """By key."""
        self.left_out: list[Cell] = []
        """Those that were not needed."""
        self.unaffordable: list[Cell] = []
        """Those that the budget had no room for."""
        self.unscored: list[Cell] = []
        """Those with an answer whose scores it had no room for."""

    def count(self) -> Counts:
        """Cells with an answer and its scores, and those without an answer, of all."""
        total = len(self._cells) - len(self.left_out)
        return Counts("cell", len(self.results) - self._failed, self._failed, total)

    @property
    def over(self) -> bool:
        """Whether every cell has ended or will not run."""
        return self._left == 0

    def begin(self) -> Iterable[CellItem]:
        """The first step of every cell."""
        return [self._step(cell, 0) for cell in self._cells]

    def take(self, item: CellItem, outcome: Outcome[Any]) -> Iterable[CellItem]:
        """The next step, or the scores of the last one's answer."""
        if item.kind == "step" and unaffordable(outcome):
            return self._not_run(item.cell)
        open_ = self._open.setdefault(item.cell.key, _Open())
        following: list[CellItem] = []
        if item.kind == "score":
            open_.scores[self._compiled.scorers[item.number].name] = score_of(outcome)
            open_.scoring -= 1
            if unaffordable(outcome) and item.cell not in self.unscored:
                self.unscored.append(item.cell)
        else:
            open_.outcomes.append(outcome)
            following = self._after(item, outcome, open_)
        if not following and open_.scoring == 0:
            self._end(item.cell, open_)
        return following

    def drop(self, item: CellItem) -> bool:
        """Whether its cell is not needed any more, and has not begun: then it is left out."""
        if item.cell.key in self._open or self._needed(item.cell):
            return False
        self.left_out.append(item.cell)
        self._left -= 1
        return True

    def answers(self, cell: Cell) -> Mapping[str, Answer]:
        """Of the steps that have ended, by name."""
        return self._open[cell.key].answers if cell.key in self._open else {}

    @staticmethod
    def rank(item: CellItem) -> float:
        """A cell that has begun goes on before another one begins."""
        return -item.number if item.kind == "step" else -float("inf")

    # -- inside ---------------------------------------------------------------------------------

    def _step(self, cell: Cell, number: int) -> CellItem:
        key = self._definitions[cell.key].step_key(number)
        return CellItem("step", cell, number, key, self.limits.of_cell(cell))

    def _score(self, cell: Cell, number: int) -> CellItem:
        scorer = self._compiled.scorers[number]
        key = self._definitions[cell.key].score_key(scorer.name)
        return CellItem("score", cell, number, key, self.limits.of_score(scorer))

    def _after(self, item: CellItem, outcome: Outcome[Any], open_: _Open) -> list[CellItem]:
        if not outcome.ok:
            return []
        steps = self._compiled.steps[item.cell.strategy]
        open_.answers[steps[item.number].name] = outcome.unwrap()
        if item.number + 1 < len(steps):
            return [self._step(item.cell, item.number + 1)]
        open_.scoring = len(self._compiled.scorers)
        return [self._score(item.cell, number) for number in range(open_.scoring)]

    def _not_run(self, cell: Cell) -> list[CellItem]:
        """The budget has no room for it: it has not failed, and a resume with more will run it."""
        self._open.pop(cell.key, None)
        self.unaffordable.append(cell)
        self._left -= 1
        return []

    def _end(self, cell: Cell, open_: _Open) -> None:
        del self._open[cell.key]
        definition = self._definitions[cell.key]
        result = CellResult.made(definition, open_.outcomes, open_.scores, self._spending)
        self.results[cell.key] = result
        self._failed += result.status == "failed"
        self._on_cell(result)
        self._left -= 1


class _Open:
    """A cell of which at least one step has ended."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome[Any]] = []
        self.answers: dict[str, Answer] = {}
        self.scores: dict[str, Score] = {}
        self.scoring = 0
        """Scores that have not ended."""
