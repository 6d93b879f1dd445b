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
from fanwise.matrix.cells.cell import Cell
from fanwise.matrix.spec.compile import Compiled
from fanwise.matrix.state.definitions import Definition
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.queue_limits import QueueLimits


class CellItem(msgspec.Struct, frozen=True, gc=False):
    """One item: a step of a cell, or a score of its answer."""

    kind: Literal["step", "score"]
    cell: Cell
    number: int
    key: str
    limit: QueueLimit


class CellBoard:
    """`begin`, then `take` the outcome of each item that it gave, until it is `over`.

    `needed`: whether a cell that has not begun shall still run.
    """

    def __init__(
        self,
        compiled: Compiled,
        definitions: Mapping[str, Definition],
        state: MatrixState,
        cells: Sequence[Cell],
        limits: QueueLimits,
        *,
        needed: Callable[[Cell], bool] = lambda _: True,
    ) -> None:
        self._compiled = compiled
        self._definitions = definitions
        self._cells = cells
        self._needed = needed
        self.state = state
        self.limits = limits

    def count(self) -> Counts:
        """Cells with an answer and its scores, and those without an answer, of all."""
        return self.state.counts

    @property
    def over(self) -> bool:
        """Whether every cell has ended or will not run."""
        return self.state.left == 0

    def begin(self) -> Iterable[CellItem]:
        return [self._step(cell, 0) for cell in self._cells]

    def take(self, item: CellItem, outcome: Outcome[Any]) -> Iterable[CellItem]:
        """The next step, or the scores of the last one's answer."""
        if item.kind == "score":
            scorer = self._compiled.scorers[item.number].name
            self.state.take_score(item.cell.key, scorer, outcome)
            return []
        self.state.take_step(item.cell.key, outcome)
        if not outcome.ok:
            return []
        if item.number + 1 < len(self._compiled.steps[item.cell.strategy]):
            return [self._step(item.cell, item.number + 1)]
        return [self._score(item.cell, number) for number in range(len(self._compiled.scorers))]

    def drop(self, item: CellItem) -> bool:
        """Whether its cell is not needed any more, and has not begun: then it is left out."""
        if self.state.has_begun(item.cell.key) or self._needed(item.cell):
            return False
        self.state.leave_out([item.cell.key])
        return True

    @staticmethod
    def rank(item: CellItem) -> float:
        """A cell that has begun goes on before another one begins."""
        return -item.number if item.kind == "step" else -float("inf")

    def _step(self, cell: Cell, number: int) -> CellItem:
        key = self._definitions[cell.key].step_key(number)
        return CellItem("step", cell, number, key, self.limits.of_cell(cell))

    def _score(self, cell: Cell, number: int) -> CellItem:
        scorer = self._compiled.scorers[number]
        key = self._definitions[cell.key].score_key(scorer.name)
        return CellItem("score", cell, number, key, self.limits.of_score(scorer))
