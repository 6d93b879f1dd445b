"""All that is known of a matrix: one state, fed with outcomes while it runs or from its journal.

The progress line, `show`, `--json`, `export` and the report render this state, so they cannot
disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from fanwise.core.counts import Counts, many
from fanwise.core.outcome import Outcome
from fanwise.matrix.answers.steps import Answer
from fanwise.matrix.cells.cell import Cell
from fanwise.matrix.state.definitions import Definition
from fanwise.matrix.state.given import Given
from fanwise.matrix.state.results import CellResult, Score, score_of, scored_cells, unaffordable
from fanwise.matrix.state.spending import Spending
from fanwise.matrix.stats.data import DEFAULTS, AnalysisOptions, Scored
from fanwise.matrix.stats.sequential import ContrastVerdict

NotRunReason = Literal["settled", "budget", "not run"]
REASONS: Mapping[NotRunReason, str] = {
    "settled": "not needed: their contrasts are settled",
    "budget": "not run: the budget is used up",
    "not run": "not run",
}


class WaitingCell(msgspec.Struct, frozen=True):
    """A cell without an answer or an error, and why."""

    cell: Cell
    why: NotRunReason = "not run"


class MatrixState:
    """Cells and what came of them: `take_step` and `take_score`, in any order of cells."""

    def __init__(
        self,
        definitions: Iterable[Definition],
        spending: Spending,
        *,
        options: AnalysisOptions = DEFAULTS,
    ) -> None:
        self._definitions = {each.key: each for each in definitions}
        self._spending = spending
        self._open: dict[str, _OpenCell] = {}
        self._ended: dict[str, CellResult] = {}
        self._not_run: dict[str, NotRunReason] = {}
        self._unscored: set[str] = set()
        self._twice: set[str] = set()
        self._failed = self._unaffordable = 0
        self.on_cell: Callable[[CellResult], None] = lambda _: None
        """Called when one has ended."""
        self.options = options
        self.verdicts: Sequence[ContrastVerdict] = ()
        """With `--stop-when-decided`: what is known of each contrast, as of the last look."""
        self.given: Given | None = None
        """What cells were given; None: unknown."""
        self.version: int | None = None
        """Which version was asked for; None: the matrix as it is."""
        self.environment: dict[str, Any] | None = None
        """Of the last execution."""
        names = (name for each in self._definitions.values() for name in each.scores)
        self.scorers = list(dict.fromkeys(names))
        """In the order of the matrix."""

    # -- what happens ---------------------------------------------------------------------------

    def take_step(self, key: str, outcome: Outcome[Any]) -> None:
        """The next step of a cell has ended."""
        self._twice.update([key] if outcome.may_have_run_twice else ())
        if unaffordable(outcome):  # it has not failed: a resume with more budget will run it
            self._open.pop(key, None)
            self._not_run[key] = "budget"
            self._unaffordable += 1
            return
        open_ = self._open.setdefault(key, _OpenCell())
        open_.outcomes.append(outcome)
        self._close(key, open_)

    def take_score(self, key: str, scorer: str, outcome: Outcome[Any]) -> None:
        self._twice.update([key] if outcome.may_have_run_twice else ())
        open_ = self._open[key]
        open_.scores[scorer] = score_of(outcome)
        if unaffordable(outcome):
            self._unscored.add(key)
        self._close(key, open_)

    def leave_out(self, keys: Iterable[str]) -> None:
        """These need not run: their contrasts are settled."""
        for key in keys:
            if key in self._definitions and not self.has_begun(key):
                self._not_run[key] = "settled"

    def _close(self, key: str, open_: _OpenCell) -> None:
        definition = self._definitions[key]
        if open_.answered(definition) and len(open_.scores) < len(definition.scores):
            return
        if open_.outcomes[-1].ok and not open_.answered(definition):
            return
        del self._open[key]
        result = self._ended[key] = self._result(definition, open_)
        self._failed += result.status == "failed"
        self.on_cell(result)

    def _result(self, definition: Definition, open_: _OpenCell) -> CellResult:
        return CellResult.made(definition, open_.outcomes, open_.scores, self._spending)

    # -- what is known --------------------------------------------------------------------------

    @property
    def left(self) -> int:
        """Cells that have not ended and may still run."""
        return len(self._definitions) - len(self._ended) - len(self._not_run)

    def has_begun(self, key: str) -> bool:
        """Whether a step of the cell has ended."""
        return key in self._open or key in self._ended

    def answers(self, cell: Cell) -> Mapping[str, Answer]:
        """Of the steps of an open cell that have ended, by name."""
        if cell.key not in self._open:
            return {}
        return self._open[cell.key].answers(self._definitions[cell.key])

    @property
    def results(self) -> list[CellResult]:
        """In the order of the matrix: the cells with an answer, scored or not, or an error."""
        found = []
        for key, definition in self._definitions.items():
            if key in self._ended:
                found.append(self._ended[key])
            elif key in self._open and self._open[key].answered(definition):
                found.append(self._result(definition, self._open[key]))
        return found

    @property
    def waiting(self) -> list[WaitingCell]:
        """The others."""
        return [
            WaitingCell(definition.as_cell(), self._not_run.get(key, "not run"))
            for key, definition in self._definitions.items()
            if key not in self._ended
            and not (key in self._open and self._open[key].answered(definition))
        ]

    @property
    def left_out(self) -> list[Cell]:
        """Not run, because their contrasts are settled."""
        return [each.cell for each in self.waiting if each.why == "settled"]

    @property
    def scored(self) -> list[Scored]:
        """As the analysis takes them, those that wait too."""
        return scored_cells(self.results, (each.cell for each in self.waiting), self.scorers)

    @property
    def may_have_run_twice(self) -> list[CellResult]:
        """Their process was killed while a model was asked, or a function ran, for them."""
        return [each for each in self.results if each.cell.key in self._twice]

    @property
    def failed(self) -> list[CellResult]:
        return [each for each in self.results if each.status == "failed"]

    @property
    def badly_scored(self) -> list[CellResult]:
        """Cells with an answer that a scorer failed on."""
        return [each for each in self.results if any(s.error for s in each.scores.values())]

    @property
    def counts(self) -> Counts:
        """How many cells have an answer and its scores, and why not all of them."""
        settled = len(self._not_run) - self._unaffordable
        total = len(self._definitions) - settled
        done = len(self._ended) - self._failed - len(self._unscored)
        if not self._unaffordable and not self._unscored:
            return Counts("cell", done, self._failed, total)
        parts = {"not run": self._unaffordable, "not scored": len(self._unscored)}
        told = ", ".join(f"{number:,} {what}" for what, number in parts.items() if number)
        why = f"the budget is used up: {told}, of {many(total, 'cell')}"
        advice = "raise the budget in the file, and run it again"
        return Counts("cell", done, self._failed, total, why, advice)


class _OpenCell:
    """A cell of which at least one step has ended."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome[Any]] = []
        self.scores: dict[str, Score] = {}

    def answered(self, definition: Definition) -> bool:
        return self.outcomes[-1].ok and len(self.outcomes) == len(definition.steps)

    def answers(self, definition: Definition) -> dict[str, Answer]:
        return {
            name: each.unwrap()
            for name, each in zip(definition.steps, self.outcomes, strict=False)
            if each.ok
        }
