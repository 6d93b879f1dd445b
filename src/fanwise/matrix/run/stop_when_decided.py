"""`--stop-when-decided`: the repeats that a settled contrast does not need are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from fanwise.matrix.cells.cell import Cell
from fanwise.matrix.state.results import CellResult, scored_cells
from fanwise.matrix.stats.sequential import ContrastVerdict, needless, verdicts

AXES = ("model", "strategy")


class Stopping:
    """Looks at the contrasts whenever a repeat of all cells is complete."""

    def __init__(
        self,
        cells: Sequence[Cell],
        scorers: Sequence[str],
        failed_as: float | None,
        on_look: Callable[[Sequence[ContrastVerdict], Sequence[str]], None],
    ) -> None:
        """`on_look`: called with the verdicts, and the keys of the cells that need not run."""
        self._cells = list(cells)
        self._planned = [cell.axes for cell in cells]
        self._axes = [axis for axis in AXES if len({each[axis] for each in self._planned}) > 1]
        self._scorers = list(scorers)
        self._ended: dict[str, CellResult] = {}
        self._open = Counter(cell.repeat for cell in cells)
        self._needless: set[str] = set()
        self._failed_as = failed_as
        self._on_look = on_look

    def needed(self, cell: Cell) -> bool:
        """Whether it can still change a verdict."""
        return cell.key not in self._needless

    def take(self, result: CellResult) -> None:
        key = result.cell.key
        known = key in self._ended
        self._ended[key] = result
        # One that had begun already was counted when it was dropped.
        if not known and key not in self._needless:
            self._count([result.cell])

    def _count(self, cells: Sequence[Cell]) -> None:
        """These need not be waited for. When a repeat has no others, it is complete: look."""
        touched = {cell.repeat for cell in cells}
        self._open.subtract(cell.repeat for cell in cells)
        if any(self._open[repeat] == 0 for repeat in touched):
            self._look()

    def _look(self) -> None:
        scored = scored_cells(self._ended.values(), (), self._scorers)
        found = verdicts(
            scored, self._planned, self._axes, self._scorers, failed_as=self._failed_as
        )
        dropped = {self._cells[place].key for place in needless(self._planned, found)}
        fresh = dropped - self._needless - set(self._ended)
        self._needless |= dropped
        self._on_look(found, sorted(self._needless))
        self._count([cell for cell in self._cells if cell.key in fresh])
