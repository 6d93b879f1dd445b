"""One execution of a matrix in a run: what is known is kept, what is not is done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from fanwise.core.counts import Counts, many
from fanwise.errors import UsageError
from fanwise.kernel.driver import Driver
from fanwise.kernel.run import Run
from fanwise.kernel.scope import item_of, ledger_here, path_here
from fanwise.matrix import definitions
from fanwise.matrix.asked import Asked
from fanwise.matrix.board import CellBoard, CellItem
from fanwise.matrix.cells import Cell, in_dispatch_order
from fanwise.matrix.compiled import Compiled
from fanwise.matrix.decided import Verdict
from fanwise.matrix.definitions import Definition
from fanwise.matrix.queue_limits import QueueLimits
from fanwise.matrix.recorded import read_results
from fanwise.matrix.results import CellResult, unaffordable
from fanwise.matrix.scorers import Program
from fanwise.matrix.spec import COMMAND
from fanwise.matrix.spending import FAN_OUT, Spending
from fanwise.matrix.stopping import Stopping
from fanwise.matrix.work import Subject


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
    unscored: list[Cell] = []
    """Answered, but a scorer's call did not fit into the budget."""

    @property
    def counts(self) -> Counts:
        """How many cells have an answer and its scores, and why not all of them."""
        failed = len(self.failed)
        total = self.wanted - len(self.left_out)
        if not self.unaffordable and not self.unscored:
            return Counts("cell", len(self.results) - failed, failed, total)
        parts = {"not run": len(self.unaffordable), "not scored": len(self.unscored)}
        told = ", ".join(f"{number:,} {what}" for what, number in parts.items() if number)
        return Counts(
            "cell",
            len(self.results) - failed - len(self.unscored),
            failed,
            total,
            f"the budget is used up: {told}, of {many(total, 'cell')}",
            "raise the budget in the file, and run it again",
        )

    @property
    def failed(self) -> list[CellResult]:
        """Cells without an answer."""
        return [each for each in self.results if each.status == "failed"]

    @property
    def badly_scored(self) -> list[CellResult]:
        """Cells with an answer that a scorer failed on."""
        return [each for each in self.results if any(s.error for s in each.scores.values())]


async def execute(
    compiled: Compiled,
    run: Run,
    asked: Asked,
    *,
    shuffle: int = 0,
    score_only: bool = False,
) -> Executed:
    """The cells that are asked for. `score_only`: of those that have an answer, the scores."""
    cells = asked.cells(compiled.cells)
    known = _defined(compiled, run, asked, cells)
    spending = Spending(path_here(FAN_OUT, run))
    stopping = Stopping(cells, [each.name for each in compiled.scorers])
    before: list[CellResult] = []
    if run.journal is not None and run.resumed:
        spending.read(run.journal, run.id)
        if item_of(run) is None and (score_only or asked.stop_when_decided):
            before = list(read_results(run.journal, run.id, [known[cell.key] for cell in cells]))
    if score_only:
        answered = {each.cell.key for each in before if each.status == "done"}
        cells = [cell for cell in cells if cell.key in answered]
    elif asked.stop_when_decided:
        for result in before:
            if result.status == "failed" or len(result.scores) == len(compiled.scorers):
                stopping.take(result)  # one that was killed before it was scored is not at its end
    run.subscribers.append(spending)
    board = CellBoard(
        compiled,
        known,
        spending,
        in_dispatch_order(cells, shuffle),
        QueueLimits(compiled, ledger_here(None, run)),
        needed=stopping.needed,
        on_cell=stopping.take if asked.stop_when_decided else lambda _: None,
    )
    try:
        await _drive(compiled, board, run)
    finally:
        run.subscribers.remove(spending)
    found = [board.results[cell.key] for cell in cells if cell.key in board.results]
    return Executed(
        found, len(cells), board.left_out, stopping.verdicts, board.unaffordable, board.unscored
    )


async def _drive(compiled: Compiled, board: CellBoard, run: Run) -> None:
    capped = COMMAND in ledger_here(None, run).resources
    await Driver(
        board,
        _work(compiled, board),
        limit=lambda item: item.limit,
        rank=board.rank,
        drop=board.drop,
        # What the budget had no room for was not tried.
        reuse=lambda _, recorded: not unaffordable(recorded),
        cap=board.limits.total,
        needs=_needs_of(compiled) if capped else None,
        run=run,
        name=FAN_OUT,
    ).run()


def _work(compiled: Compiled, board: CellBoard) -> Callable[[CellItem], Awaitable[Any]]:
    async def work(item: CellItem) -> Any:
        cell, answers = item.cell, board.answers(item.cell)
        model = compiled.models.get(cell.model)
        subject = Subject(cell, compiled.inputs[cell.input].data, model, answers)
        steps = compiled.steps[cell.strategy]
        if item.kind == "step":
            return await steps[item.number].answer(subject)
        answer = answers[steps[-1].name]
        score, reason = await compiled.scorers[item.number].score(answer, subject)
        return {"score": score, "reason": reason}

    return work


def _needs_of(compiled: Compiled) -> Callable[[CellItem], str | None]:
    """Programs that score hold the cap `command`; every other permit is held by a call."""
    programs = [isinstance(each, Program) for each in compiled.scorers]
    return lambda item: COMMAND if item.kind == "score" and programs[item.number] else None


def _defined(
    compiled: Compiled, run: Run, asked: Asked, cells: Sequence[Cell]
) -> dict[str, Definition]:
    """All cells of the matrix, also those that are not asked for; written where that is news."""
    make = definitions.Definer(compiled.steps, compiled.scorers).define
    if run.journal is None or item_of(run) is not None:
        if asked.rerun is not None and run.journal is not None:
            raise UsageError("rerun is for a run of a matrix, and this is another run's part")
        return {cell.key: make(cell, 0) for cell in compiled.cells}
    meant = {cell.key for cell in cells}
    before = definitions.recorded(run.journal, run.id)
    found, changes = definitions.updated(
        before, compiled.cells, make, lambda each: each.key in meant and asked.anew(each)
    )
    definitions.write(run.journal, run.id, changes)
    return found
