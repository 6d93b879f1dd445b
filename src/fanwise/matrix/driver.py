"""Runs the cells: steps and scores as items of one fan-out, each recorded once.

A cell is one item for each step and one for each score, because each may be lost by itself: a
scorer that fails does not lose the answer, and a second step that fails does not lose the first.
An item holds no permit of a provider; its calls do, each for as long as it lasts. So that items
that wait for a busy provider do not fill the fan-out, each has its room in it (`rooms`).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from fanwise.core.outcome import Outcome
from fanwise.kernel.feed import Feed
from fanwise.kernel.run import Run
from fanwise.kernel.scope import current
from fanwise.kernel.stream import Stream, fan_out_stream
from fanwise.matrix.cells import Cell, in_dispatch_order
from fanwise.matrix.compiled import Compiled
from fanwise.matrix.definitions import Definition
from fanwise.matrix.results import CellResult, Score, score_of, unaffordable
from fanwise.matrix.rooms import room_of, rooms, score_room
from fanwise.matrix.spending import FAN_OUT, Spending
from fanwise.matrix.work import Answer, Subject


class Task(msgspec.Struct, frozen=True, gc=False):
    """One item: a step of a cell, or a score of its answer."""

    kind: Literal["step", "score"]
    cell: Cell
    number: int
    key: str
    room: str


class Driver:
    """One execution of a matrix.

    The cells of a room are given to the fan-out when there is room, always more than can run: so no
    permit is idle, and what need not run any more (`needed`) can still be left out.
    """

    def __init__(
        self,
        compiled: Compiled,
        definitions: Mapping[str, Definition],
        spending: Spending,
        *,
        shuffle: int = 0,
        needed: Callable[[Cell], bool] = lambda _: True,
        on_cell: Callable[[CellResult], None] | None = None,
    ) -> None:
        self._compiled = compiled
        self._definitions = definitions
        self._spending = spending
        self._shuffle = shuffle
        self._needed = needed
        self._on_cell = on_cell
        self._rooms = rooms(compiled)
        self._feed: Feed[Task] = Feed()
        self._tasks: dict[int, Task] = {}
        self._added = 0
        self._waiting: dict[str, deque[Cell]] = {}
        self._inside: Counter[str] = Counter()
        """Cells with steps to do, by room."""
        self._open: dict[str, _Open] = {}
        self._left = 0
        self.results: dict[str, CellResult] = {}
        self.left_out: list[Cell] = []
        """Those that were not needed."""
        self.unaffordable: list[Cell] = []
        """Those that the budget had no room for."""

    async def run(self, cells: Sequence[Cell], run: Run | None) -> None:
        """All of them; `results` has what came of each, by key."""
        self._left = len(cells)
        for cell in in_dispatch_order(cells, self._shuffle):
            self._waiting.setdefault(room_of(self._compiled.spec, cell), deque()).append(cell)
        stream: Stream[Any] = fan_out_stream(
            self._perform,
            self._feed,
            cap=sum(self._rooms.values()),
            needs=lambda task: task.room,
            key=lambda task: task.key,
            run=run,
            name=FAN_OUT,
            reuse=_final(),
        )
        async with stream:
            for room in self._waiting:
                self._fill(room)
            self._close_if_over()
            async for outcome in stream:
                self._take(self._tasks.pop(outcome.index), outcome)

    # -- what goes in ---------------------------------------------------------------------------

    def _fill(self, room: str) -> None:
        """As many cells as it has room for."""
        waiting, most = self._waiting[room], self._rooms[room]
        fresh: list[Task] = []
        while waiting and self._inside[room] < most:
            cell = waiting.popleft()
            if not self._needed(cell):
                self.left_out.append(cell)
                self._left -= 1
                continue
            self._inside[room] += 1
            self._open[cell.key] = _Open()
            fresh.append(self._step(cell, 0))
        self._add(fresh)

    def _add(self, tasks: Iterable[Task]) -> None:
        fresh = list(tasks)
        for task in fresh:
            self._tasks[self._added] = task
            self._added += 1
        self._feed.add(*fresh)

    def _step(self, cell: Cell, number: int) -> Task:
        key = self._definitions[cell.key].step_key(number)
        return Task("step", cell, number, key, room_of(self._compiled.spec, cell))

    def _score(self, cell: Cell, number: int) -> Task:
        scorer = self._compiled.scorers[number]
        key = self._definitions[cell.key].score_key(scorer.name)
        return Task("score", cell, number, key, score_room(scorer))

    def _close_if_over(self) -> None:
        if self._left == 0:
            self._feed.close()

    # -- what comes back ------------------------------------------------------------------------

    def _take(self, task: Task, outcome: Outcome[Any]) -> None:
        if outcome.status in ("cancelled", "skipped"):
            return  # the run is being ended, and the cell has neither an answer nor failed
        cell = task.cell
        open_ = self._open[cell.key]
        if task.kind == "step" and unaffordable(outcome):
            self._not_run(task)
            return
        if task.kind == "score":
            open_.scores[self._compiled.scorers[task.number].name] = score_of(outcome)
            open_.scoring -= 1
        else:
            open_.outcomes.append(outcome)
            self._after(task, outcome, open_)
        if open_.over and open_.scoring == 0:
            self._end(cell, open_)
        self._close_if_over()

    def _not_run(self, task: Task) -> None:
        """The budget has no room for it: it has not failed, and a resume with more will run it."""
        del self._open[task.cell.key]
        self.unaffordable.append(task.cell)
        self._left -= 1
        self._inside[task.room] -= 1
        self._fill(task.room)
        self._close_if_over()

    def _after(self, task: Task, outcome: Outcome[Any], open_: _Open) -> None:
        steps = self._compiled.steps[task.cell.strategy]
        if outcome.ok:
            open_.answers[steps[task.number].name] = outcome.unwrap()
            if task.number + 1 < len(steps):
                self._add([self._step(task.cell, task.number + 1)])
                return
            open_.scoring = len(self._compiled.scorers)
            self._add(self._score(task.cell, number) for number in range(open_.scoring))
        open_.over = True
        self._inside[task.room] -= 1
        self._fill(task.room)

    def _end(self, cell: Cell, open_: _Open) -> None:
        del self._open[cell.key]
        definition = self._definitions[cell.key]
        result = CellResult.made(definition, open_.outcomes, open_.scores, self._spending)
        self.results[cell.key] = result
        if self._on_cell is not None:
            self._on_cell(result)
        self._left -= 1

    # -- the items ------------------------------------------------------------------------------

    async def _perform(self, task: Task) -> Any:
        cell = task.cell
        answers = self._open[cell.key].answers
        subject = Subject(
            cell,
            self._compiled.inputs[cell.input].data,
            self._compiled.models.get(cell.model),
            answers,
        )
        steps = self._compiled.steps[cell.strategy]
        if task.kind == "step":
            return await steps[task.number].answer(subject)
        scorer = self._compiled.scorers[task.number]
        score, reason = await scorer.score(answers[steps[-1].name], subject)
        return {"score": score, "reason": reason}


def _final() -> Callable[[Task, Outcome[Any]], bool]:
    """Whether what an earlier execution recorded is final. A failure is, unless it was no try.

    Asked for once, where the fan-out begins: later the code around is that of some other item.
    """
    around = current.get()
    if around is not None and around.again:  # inside a step that is tried once more
        return lambda _, recorded: recorded.ok
    return lambda _, recorded: not unaffordable(recorded)


class _Open:
    """A cell that has begun."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome[Any]] = []
        self.answers: dict[str, Answer] = {}
        self.scores: dict[str, Score] = {}
        self.scoring = 0
        self.over = False
        """No more steps."""
