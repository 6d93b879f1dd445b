"""How many items of a matrix are in the fan-out at once, so that none keeps others from starting.

An item holds no permit of a provider; its calls do, each for as long as it lasts. Items that wait
for a busy provider would soon fill the fan-out. So the items that need the same caps have a queue
of their own, and only some of it is let in: twice as many as calls can run, and some more, because
while many back off, others use the permits.
"""

from __future__ import annotations

import os

from fanwise.core.ledger import Ledger
from fanwise.core.ready_queue import QueueLimit
from fanwise.matrix.cells.cell import NO_MODEL, Cell
from fanwise.matrix.scores.scorers import Compared, Pattern, Program, Scorer
from fanwise.matrix.spec.compile import Compiled
from fanwise.matrix.spec.matrix_spec import COMMAND
from fanwise.models.port import ALL, Model

UNCAPPED = 64
"""Items at once of a provider without a cap, of cells without a model, and of functions."""
BACKING_OFF = 16
"""Items of a provider with a cap that may back off without keeping others from starting."""


class QueueLimits:
    """The queue of each item of a matrix. `ledger`: has the caps that hold for it."""

    def __init__(self, compiled: Compiled, ledger: Ledger) -> None:
        self._caps = {
            name: each.most for name, each in ledger.resources.items() if each.most is not None
        }
        self._limits: dict[str, QueueLimit] = {}
        self._add(NO_MODEL, UNCAPPED)
        for cell in compiled.cells:
            if self._queue(cell) not in self._limits:
                self._add(self._queue(cell), self._most(cell.model, cell.provider, ALL))
        for scorer in compiled.scorers:
            judge: Model | None = getattr(scorer, "model", None)
            if judge is not None:
                self._add(_judge(judge), self._most(judge.name, judge.provider, ALL))
            elif isinstance(scorer, Program):
                self._add(COMMAND, self._most(COMMAND, uncapped=os.cpu_count() or 1))
        self._at_once = QueueLimit("scores", sum(each.most for each in self._limits.values()))
        """Of scores that take no time: they come as fast as all providers together."""

    @property
    def total(self) -> int:
        """Of all queues."""
        return 2 * self._at_once.most

    def of_cell(self, cell: Cell) -> QueueLimit:
        """For its steps."""
        return self._limits[self._queue(cell)]

    def of_score(self, scorer: Scorer) -> QueueLimit:
        """For its scores."""
        if isinstance(scorer, Compared | Pattern):
            return self._at_once
        if isinstance(scorer, Program):
            return self._limits[COMMAND]
        judge: Model | None = getattr(scorer, "model", None)
        return self._limits[NO_MODEL] if judge is None else self.of_judge(judge)

    def of_judge(self, judge: Model) -> QueueLimit:
        """For the scores that a model gives."""
        return self._limits[_judge(judge)]

    def _queue(self, cell: Cell) -> str:
        return cell.model if cell.model in self._caps else cell.provider

    def _most(self, *names: str, uncapped: int = UNCAPPED) -> int:
        """As many as the tightest of these caps asks for; `uncapped`: if there is none."""
        caps = [self._caps[name] for name in names if name in self._caps]
        return 2 * min(caps) + BACKING_OFF if caps else uncapped

    def _add(self, queue: str, most: int) -> None:
        self._limits[queue] = QueueLimit(queue, most)


def _judge(judge: Model) -> str:
    return f"judge {judge.name}"
