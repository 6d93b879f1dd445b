"""One execution of a matrix: ask what has no answer, and keep what earlier executions recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from fanwise.errors import UsageError
from fanwise.kernel.driver import Driver
from fanwise.kernel.garbage import fewer_collections
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.run import Run
from fanwise.kernel.scope import item_of, ledger_here, path_here
from fanwise.matrix.answers.steps import Function, Prompt, Subject
from fanwise.matrix.cells.cell import Cell, in_dispatch_order
from fanwise.matrix.run.cell_choice import CellChoice
from fanwise.matrix.scores.scorers import Called, Judging, Program
from fanwise.matrix.spec.compile import Compiled
from fanwise.matrix.spec.matrix_spec import COMMAND
from fanwise.matrix.state import definitions
from fanwise.matrix.state.board import CellBoard, CellItem
from fanwise.matrix.state.definitions import Definition
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.queue_limits import QueueLimits
from fanwise.matrix.state.recorded_matrix import VERDICTS, SettledContrasts, read_cells
from fanwise.matrix.state.results import CellResult, scored_cells, unaffordable
from fanwise.matrix.state.spending import FAN_OUT, Spending
from fanwise.matrix.state.versions import VERSION, MatrixVersion, version_spec, versions
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


async def execute(
    compiled: Compiled,
    run: Run,
    asked: CellChoice,
    *,
    shuffle: int = 0,
    score_only: bool = False,
) -> MatrixState:
    """The cells that are asked for. `score_only`: of those that have an answer, the scores."""
    cells = asked.cells(compiled.cells)
    known = await in_thread(_defined, compiled, run, asked, cells)
    spending = Spending(path_here(FAN_OUT, run))
    before: list[CellResult] = []
    if run.journal is not None and run.resumed:
        await in_thread(spending.read, run.journal, run.id)
        if item_of(run) is None and (score_only or asked.stop_when_decided):
            mine = [known[cell.key] for cell in cells]
            found = await in_thread(read_cells, run.journal, run.id, mine, compiled.spec.analysis)
            before = found.results
    if score_only:
        answered = {each.cell.key for each in before if each.status == "done"}
        cells = [cell for cell in cells if cell.key in answered]
    options = compiled.spec.analysis
    state = MatrixState([known[cell.key] for cell in cells], spending, options=options)
    needed = _stopping(compiled, run, cells, state, before) if asked.stop_when_decided else None
    if needed is None and not score_only:
        await in_thread(_forget_verdicts, run)
    run.subscribers.of_calls.append(spending)
    board = CellBoard(
        compiled,
        known,
        state,
        in_dispatch_order(cells, shuffle),
        QueueLimits(compiled, ledger_here(None, run)),
        needed=needed or (lambda _: True),
    )
    try:
        with fewer_collections():
            await _drive(compiled, board, run)
    finally:
        run.subscribers.of_calls.remove(spending)
    return state


def _forget_verdicts(run: Run) -> None:
    """Those of an earlier execution hold no longer."""
    if run.journal is not None and run.resumed and any(run.journal.events(run.id, VERDICTS)):
        run.note(VERDICTS, SettledContrasts())


def _stopping(
    compiled: Compiled,
    run: Run,
    cells: Sequence[Cell],
    state: MatrixState,
    before: Sequence[CellResult],
) -> Callable[[Cell], bool]:
    """Looks whenever a repeat is complete, and records what is settled before it is acted on."""

    def look(verdicts: Sequence[ContrastVerdict], left_out: Sequence[str]) -> None:
        state.verdicts = verdicts
        if item_of(run) is None:
            run.note(VERDICTS, SettledContrasts(list(verdicts), list(left_out)))

    scorers = [each.name for each in compiled.scorers]
    stopping = Stopping(cells, scorers, state.options.failed_as, look)
    for result in before:
        if result.status == "failed" or len(result.scores) == len(compiled.scorers):
            stopping.take(result)  # one that was killed before it was scored is not at its end
    state.on_cell = stopping.take
    return stopping.needed


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
        starts_with_call=_starts_with_call(compiled),
        run=run,
        name=FAN_OUT,
    ).run()


def _work(compiled: Compiled, board: CellBoard) -> Callable[[CellItem], Awaitable[Any]]:
    async def work(item: CellItem) -> Any:
        cell, answers = item.cell, board.state.answers(item.cell)
        model = compiled.models.get(cell.model)
        subject = Subject(cell, compiled.inputs[cell.input].data, model, answers)
        steps = compiled.steps[cell.strategy]
        if item.kind == "step":
            return await steps[item.number].answer(subject)
        answer, scorer, last = answers[steps[-1].name], compiled.scorers[item.number], steps[-1]
        if isinstance(scorer, Judging) and isinstance(last, Prompt) and "messages" not in answer:
            answer = {**answer, "messages": msgspec.to_builtins(last.filled(subject))}
        score, reason = await scorer.score(answer, subject)
        return {"score": score, "reason": reason}

    return work


def _needs_of(compiled: Compiled) -> Callable[[CellItem], str | None]:
    """Programs that score hold the cap `command`; every other permit is held by a call."""
    programs = [isinstance(each, Program) for each in compiled.scorers]
    return lambda item: COMMAND if item.kind == "score" and programs[item.number] else None


def _starts_with_call(compiled: Compiled) -> Callable[[CellItem], bool]:
    """Prompts and most scorers do nothing but ask a model: waiting for a permit is no start."""
    steps = {
        (strategy, number): not isinstance(step, Function)
        and not (isinstance(step, Prompt) and step.answerer is not None)
        for strategy, found in compiled.steps.items()
        for number, step in enumerate(found)
    }
    scores = [not isinstance(each, Called | Program) for each in compiled.scorers]
    return lambda item: (
        scores[item.number] if item.kind == "score" else steps[item.cell.strategy, item.number]
    )


def _defined(
    compiled: Compiled, run: Run, asked: CellChoice, cells: Sequence[Cell]
) -> dict[str, Definition]:
    """All cells of the matrix, also those that are not asked for; written where that is news."""
    make = definitions.Definer(compiled.steps, compiled.scorers).define
    if run.journal is None or item_of(run) is not None:
        if asked.rerun is not None and run.journal is not None:
            raise UsageError("rerun is for a run of a matrix, and this is another run's part")
        return {cell.key: make(cell, 0) for cell in compiled.cells}
    meant = {cell.key for cell in cells}
    before, known = definitions.recorded(run.journal, run.id), versions(run.journal, run.id)
    spec = version_spec(run.record.spec) if run.record is not None else {}
    number = known[-1].number + 1 if known else 1
    found, changes = definitions.updated(
        before, compiled.cells, make, lambda each: each.key in meant and asked.anew(each), number
    )
    definitions.write(run.journal, run.id, changes)
    if changes or not known or known[-1].spec != spec:
        run.note(
            VERSION, MatrixVersion.pack(number, spec)
        )  # last: it says that its cells are written
    return found
