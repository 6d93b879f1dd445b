"""One execution of a matrix in a run: what is known is kept, what is not is done."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fanwise.kernel.run import Run
from fanwise.matrix import definitions
from fanwise.matrix.asked import Asked
from fanwise.matrix.cells import Cell
from fanwise.matrix.compiled import Compiled
from fanwise.matrix.decided import Verdict
from fanwise.matrix.definitions import Definition
from fanwise.matrix.driver import Driver
from fanwise.matrix.recorded import read_results
from fanwise.matrix.results import CellResult
from fanwise.matrix.spending import Spending
from fanwise.matrix.stopping import Stopping


class Executed(msgspec.Struct, frozen=True):
    """What came of it."""

    results: list[CellResult]
    """In the order of the cells; those that did not end are missing."""
    wanted: int
    left_out: list[Cell]
    """Not run, for their contrasts are settled."""
    verdicts: list[Verdict]
    unaffordable: list[Cell] = []
    """Not run, for the budget had no room."""


async def execute(
    compiled: Compiled, run: Run, asked: Asked, *, shuffle: int = 0, score_only: bool = False
) -> Executed:
    """The cells that are asked for. `score_only`: of those that have an answer, the scores."""
    cells = asked.cells(compiled.cells)
    known = _defined(compiled, run, asked, cells)
    spending = Spending()
    stopping = Stopping(cells, [each.name for each in compiled.scorers])
    before: list[CellResult] = []
    if run.journal is not None and run.resumed:
        spending.read(run.journal, run.id)
        if score_only or asked.stop_when_decided:
            before = list(read_results(run.journal, run.id, [known[cell.key] for cell in cells]))
    if score_only:
        answered = {each.cell.key for each in before if each.status == "done"}
        cells = [cell for cell in cells if cell.key in answered]
    elif asked.stop_when_decided:
        for result in before:
            if result.status == "failed" or len(result.scores) == len(compiled.scorers):
                stopping.take(result)  # one that was killed before it was scored is not at its end
    run.subscribers.append(spending)
    driver = Driver(
        compiled,
        known,
        spending,
        shuffle=shuffle,
        needed=stopping.needed,
        on_cell=stopping.take if asked.stop_when_decided else None,
    )
    try:
        await driver.run(cells, run)
    finally:
        run.subscribers.remove(spending)
    found = [driver.results[cell.key] for cell in cells if cell.key in driver.results]
    return Executed(found, len(cells), driver.left_out, stopping.verdicts, driver.unaffordable)


def _defined(
    compiled: Compiled, run: Run, asked: Asked, cells: Sequence[Cell]
) -> dict[str, Definition]:
    """All cells of the matrix, also those that are not asked for; written where that is news."""
    make = definitions.Definer(compiled.steps, compiled.scorers).define
    if run.journal is None:
        return {cell.key: make(cell, 0) for cell in compiled.cells}
    meant = {cell.key for cell in cells}
    before = definitions.recorded(run.journal, run.id)
    found, changes = definitions.updated(
        before, compiled.cells, make, lambda each: each.key in meant and asked.anew(each)
    )
    definitions.write(run.journal, run.id, changes)
    return found
