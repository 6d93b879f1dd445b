"""Runs the cells: steps and scores as items of one fan-out, each recorded once.

A cell is one item for each step and one for each score, because each may be lost by itself: a
scorer that fails does not lose the answer, and a second step that fails does not lose the first.
An item holds no permit of a provider; its calls do, each for as long as it lasts. So that items
that wait for a busy provider do not fill the fan-out, each provider has room of its own in it.

Items are added late, when their room has space soon. What a cell that has begun still needs (a
second step, a score) comes before cells that have not, so that cells are complete early; and a
hundred thousand that wait cost the fan-out nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from fanwise.core.caps import Caps
from fanwise.core.outcome import Outcome
from fanwise.errors import one_line
from fanwise.kernel.feed import Feed
from fanwise.kernel.run import Run
from fanwise.kernel.stream import Stream, fan_out_stream
from fanwise.matrix.cells import NO_MODEL, Cell, in_dispatch_order, key_of
from fanwise.matrix.compiled import Compiled
from fanwise.matrix.results import CellResult, Score
from fanwise.matrix.work import Answer, Subject

FAN_OUT = "cells"
ROOM = 64
"""Items at once of a provider without a cap, of cells without a model, and of scores."""


class Task(msgspec.Struct, frozen=True, gc=False):
    """One item: a step of a cell, or a score of its answer."""

    kind: Literal["step", "score"]
    cell: Cell
    number: int
    key: str
    room: str


def rooms(compiled: Compiled) -> dict[str, int]:
    """Items at once, by the cap that gives each provider its room.

    Twice as many as calls: while some back off or are scored, others use the permits.
    """
    found = {_room(NO_MODEL): ROOM}
    for provider in {cell.provider for cell in compiled.cells} - {NO_MODEL}:
        cap = compiled.spec.caps.get(provider)
        most = cap if isinstance(cap, int) else None if cap is None else cap.most
        found[_room(provider)] = ROOM if most is None else 2 * most
    return found


def _room(provider: str) -> str:
    return f"cells:{provider}"


def caps_for(compiled: Compiled) -> Caps:
    """The caps and rates of the file, and the rooms."""
    return Caps({**compiled.spec.limits(), **rooms(compiled)})


class Driver:
    """One execution of a matrix."""

    def __init__(
        self,
        compiled: Compiled,
        *,
        shuffle: int = 0,
        generation: Callable[[Cell], int] = lambda _: 0,
        on_cell: Callable[[CellResult], None] | None = None,
    ) -> None:
        self._compiled = compiled
        self._shuffle = shuffle
        self._generation = generation
        self._on_cell = on_cell
        self._feed: Feed[Task] = Feed()
        self._added = 0
        self._tasks: dict[int, Task] = {}
        """Those whose outcome is not known, by their index in the fan-out."""
        self._rooms = {name: _Room(size) for name, size in rooms(compiled).items()}
        self._answers: dict[str, dict[str, Answer]] = {}
        self._open: dict[str, _Open] = {}
        self._left = 0
        # Another scorer of the same name is another score of the same answer.
        self._scores = [
            f"score {each.name} {key_of(each.identity)[:8]}" for each in compiled.scorers
        ]
        self.results: dict[str, CellResult] = {}

    async def run(self, cells: Sequence[Cell], run: Run | None, caps: Caps | None) -> None:
        """All of them; `results` has what came of each."""
        self._left = len(cells)
        stream: Stream[Any] = fan_out_stream(
            self._perform,
            self._feed,
            cap=sum(room.size for room in self._rooms.values()),
            caps=caps,
            needs=lambda task: task.room,
            key=lambda task: task.key,
            run=run,
            name=FAN_OUT,
        )
        for cell in in_dispatch_order(cells, self._shuffle):
            self._rooms[_room(cell.provider)].cells.append(cell)
        async with stream:
            for room in self._rooms.values():
                self._fill(room)
            if not cells:
                self._feed.close()
            async for outcome in stream:
                task = self._tasks.pop(outcome.index)
                room = self._rooms[task.room]
                room.taken -= 1
                self._take(task, outcome)
                self._fill(room)

    def _add(self, task: Task) -> None:
        room = self._rooms[task.room]
        room.tasks.append(task)
        self._fill(room)

    def _fill(self, room: _Room) -> None:
        """As many items as it holds may wait besides, so that it is never empty."""
        while room.taken < 2 * room.size and (room.tasks or room.cells):
            task = room.tasks.popleft() if room.tasks else self._step(room.cells.popleft(), 0)
            room.taken += 1
            self._tasks[self._added] = task
            self._added += 1
            self._feed.add(task)

    def _step(self, cell: Cell, number: int) -> Task:
        step = self._compiled.steps[cell.strategy][number]
        key = f"{self._key(cell)} {step.name}"
        return Task("step", cell, number, key, _room(cell.provider))

    def _score(self, cell: Cell, number: int) -> Task:
        key = f"{self._key(cell)} {self._scores[number]}"
        return Task("score", cell, number, key, _room(NO_MODEL))

    def _key(self, cell: Cell) -> str:
        generation = self._generation(cell)
        return cell.key if generation == 0 else f"{cell.key}~{generation}"

    # -- what came back -------------------------------------------------------------------------

    def _take(self, task: Task, outcome: Outcome[Any]) -> None:
        cell = task.cell
        open_ = self._open.setdefault(cell.key, _Open())
        if task.kind == "score":
            open_.scores[self._compiled.scorers[task.number].name] = _scored(outcome)
            open_.scoring -= 1
        else:
            open_.outcomes.append(outcome)
            self._after(task, outcome, open_)
        if open_.over and open_.scoring == 0:
            self._end(cell, open_)

    def _after(self, task: Task, outcome: Outcome[Any], open_: _Open) -> None:
        steps = self._compiled.steps[task.cell.strategy]
        if not outcome.ok:
            open_.over = True
            return
        open_.answers[steps[task.number].name] = outcome.unwrap()
        if task.number + 1 < len(steps):
            self._answers[task.cell.key] = open_.answers
            self._add(self._step(task.cell, task.number + 1))
            return
        open_.over = True
        open_.scoring = len(self._compiled.scorers)
        self._answers[task.cell.key] = open_.answers
        for number in range(open_.scoring):
            self._add(self._score(task.cell, number))

    def _end(self, cell: Cell, open_: _Open) -> None:
        del self._open[cell.key]
        self._answers.pop(cell.key, None)
        result = CellResult.made(cell, open_.outcomes, open_.answers, open_.scores)
        self.results[cell.key] = result
        if self._on_cell is not None:
            self._on_cell(result)
        self._left -= 1
        if self._left == 0:
            self._feed.close()

    # -- the items ------------------------------------------------------------------------------

    async def _perform(self, task: Task) -> Any:
        cell = task.cell
        answers = self._answers.get(cell.key, {})
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


class _Room:
    """What a provider's items take up, and what waits for it outside of the fan-out."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.taken = 0
        self.tasks: deque[Task] = deque()
        """Of cells that have begun."""
        self.cells: deque[Cell] = deque()
        """That have not."""


class _Open:
    """A cell that has begun."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome[Any]] = []
        self.answers: dict[str, Answer] = {}
        self.scores: dict[str, Score] = {}
        self.scoring = 0
        self.over = False
        """No more steps."""


def _scored(outcome: Outcome[Any]) -> Score:
    if not outcome.ok:
        error = outcome.error
        return Score(error=outcome.status if error is None else one_line(error))
    value: Mapping[str, Any] = outcome.unwrap()
    return Score(value["score"], value["reason"])
