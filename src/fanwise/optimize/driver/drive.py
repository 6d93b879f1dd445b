"""Runs what the board decides: every task is an item of one fan-out, recorded once.

Items of one fan-out, and not one item with its stages inside for each candidate: so each stage has
its own permits and gives them back at its end. A candidate that has passed its checks holds no
workspace while it waits to be measured.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec

from fanwise.core.caps import Caps
from fanwise.core.outcome import Outcome
from fanwise.errors import one_line
from fanwise.kernel.feed import Feed
from fanwise.kernel.run import Run
from fanwise.kernel.scope import current
from fanwise.kernel.stream import Stream, fan_out_stream
from fanwise.optimize.benchmark.speed import Speed
from fanwise.optimize.driver.board import Board
from fanwise.optimize.driver.task import Checked, Prepared, Proposed, Task
from fanwise.optimize.verdicts import Verdict

FAN_OUT = "optimize"
WORKSPACES, CPU, PROPOSE = "workspaces", "cpu", "propose"
BOOKKEEPING = 4
"""Verdicts that may be written at once; they take no time."""
IN_WORKSPACES = ("baseline:tests", "baseline:recording")
"""Stages of the original that run its tests, which may leave things behind: in a slot, like all
that is not the original's own workspace."""

Perform = Callable[[Task], Awaitable[Any]]
"""Does a task; what it gives is plain data, as the journal keeps it."""


class Driver:
    """One execution of a run."""

    def __init__(
        self,
        board: Board,
        perform: Perform,
        *,
        learn: Callable[[Task, Any], None] = lambda task, value: None,
        kept: Callable[[Task, Any], bool] = lambda task, value: True,
    ) -> None:
        self._board = board
        self._perform = perform
        self._learn = learn
        """Is told what a task gave, before anything that needs it begins."""
        self._kept = kept
        """Whether the files of a recorded stage are still there."""
        self._feed: Feed[Task] = Feed()
        self._tasks: dict[int, Task] = {}
        self._added = 0
        self.fatal: BaseException | None = None
        """What is wrong with the original."""

    async def run(self, caps: Caps, run: Run | None) -> None:
        """All of it; the board has what came of it."""
        limits = caps.current
        slots = limits[CPU] or 1
        stream: Stream[Any] = fan_out_stream(
            self._perform,
            self._feed,
            cap=slots + (limits[PROPOSE] or 1) + BOOKKEEPING,
            caps=caps,
            needs=lambda task: needs_of(task, slots),
            key=lambda task: task.key,
            run=run,
            name=FAN_OUT,
            reuse=self._final(),
        )
        async with stream:
            self._add(self._board.begin())
            async for outcome in stream:
                self._add(self._take(self._tasks.pop(outcome.index), outcome))
                if self._board.fatal is not None:
                    return

    def _add(self, tasks: Iterable[Task]) -> None:
        fresh = list(tasks)
        for task in fresh:
            self._tasks[self._added] = task
            self._added += 1
        self._feed.add(*fresh)
        if self._board.over:
            self._feed.close()

    def _take(self, task: Task, outcome: Outcome[Any]) -> list[Task]:
        if outcome.status in ("cancelled", "skipped"):
            return []  # the run is being ended, and nothing is known
        if not outcome.ok:
            assert outcome.error is not None
            if task.kind == "baseline":
                self.fatal = outcome.error
            return self._board.fail(task, one_line(outcome.error))
        return self._next(task, outcome.unwrap())

    def _next(self, task: Task, value: Any) -> list[Task]:
        board = self._board
        self._learn(task, value)
        if task.kind == "baseline":
            return board.baseline_done(task)
        if task.kind == "prepare":
            return board.prepared(task, msgspec.convert(value, Prepared))
        if task.kind == "check":
            return board.checked(task, msgspec.convert(value, Checked))
        if task.kind == "benchmark":
            return board.measured(task, msgspec.convert(value, Speed))
        if task.kind == "profile":
            return board.profiled(task, value)
        if task.kind == "propose":
            return board.proposed(task, msgspec.convert(value, Proposed).candidates)
        return board.judged(task, msgspec.convert(value["verdict"], Verdict))

    def _final(self) -> Callable[[Task, Outcome[Any]], bool]:
        """Whether what an earlier execution recorded still counts. Of the original no failure does.

        Asked for once, where the fan-out begins: later the code around is that of another item.
        """
        around = current.get()
        again = around is not None and around.again  # inside a step that is tried once more

        def counts(task: Task, recorded: Outcome[Any]) -> bool:
            failures = not again and task.kind != "baseline"
            return (recorded.ok or failures) and self._kept(task, recorded.value)

        return counts


def needs_of(task: Task, slots: int) -> Mapping[str, int]:
    """Which permits a task takes. What is measured is alone on the CPU."""
    if task.kind == "propose":
        return {PROPOSE: 1}
    if task.kind == "verdict":
        return {}
    if task.kind == "benchmark":
        return {WORKSPACES: 1, CPU: slots}
    if task.kind == "baseline" and task.key not in IN_WORKSPACES:
        return {CPU: slots if task.stage == "noise" else 1}
    return {WORKSPACES: 1, CPU: 1}
