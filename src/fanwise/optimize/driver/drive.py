"""Runs what the board decides: each of its items is one of one fan-out, recorded once.

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
from fanwise.optimize.driver.item import Checked, Item, Prepared, Proposed
from fanwise.optimize.verdicts import Verdict

FAN_OUT = "optimize"
WORKSPACES, CPU, PROPOSE = "workspaces", "cpu", "propose"
BOOKKEEPING = 4
"""Verdicts that may be written at once; they take no time."""
IN_WORKSPACES = ("baseline:tests", "baseline:recording")
"""Stages of the original that run its tests, which may leave things behind: in a slot, like all
that is not the original's own workspace."""

Perform = Callable[[Item], Awaitable[Any]]
"""Does an item; what it gives is plain data, as the journal keeps it."""


class Driver:
    """One execution of a run."""

    def __init__(
        self,
        board: Board,
        perform: Perform,
        *,
        learn: Callable[[Item, Any], None] = lambda item, value: None,
        kept: Callable[[Item, Any], bool] = lambda item, value: True,
    ) -> None:
        self._board = board
        self._perform = perform
        self._learn = learn
        """Is told what an item gave, before anything that needs it begins."""
        self._kept = kept
        """Whether the files of a recorded stage are still there."""
        self._feed: Feed[Item] = Feed()
        self._items: dict[int, Item] = {}
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
            needs=lambda item: needs_of(item, slots),
            key=lambda item: item.key,
            run=run,
            name=FAN_OUT,
            reuse=self._final(),
        )
        async with stream:
            self._add(self._board.begin())
            async for outcome in stream:
                self._add(self._take(self._items.pop(outcome.index), outcome))
                if self._board.fatal is not None:
                    return

    def _add(self, items: Iterable[Item]) -> None:
        fresh = list(items)
        for item in fresh:
            self._items[self._added] = item
            self._added += 1
        self._feed.add(*fresh)
        if self._board.over:
            self._feed.close()

    def _take(self, item: Item, outcome: Outcome[Any]) -> list[Item]:
        if outcome.status in ("cancelled", "skipped"):
            return []  # the run is being ended, and nothing is known
        if not outcome.ok:
            assert outcome.error is not None
            if item.kind == "baseline":
                self.fatal = outcome.error
            return self._board.fail(item, one_line(outcome.error))
        return self._next(item, outcome.unwrap())

    def _next(self, item: Item, value: Any) -> list[Item]:
        board = self._board
        self._learn(item, value)
        if item.kind == "baseline":
            return board.baseline_done(item)
        if item.kind == "prepare":
            return board.prepared(item, msgspec.convert(value, Prepared))
        if item.kind == "check":
            return board.checked(item, msgspec.convert(value, Checked))
        if item.kind == "benchmark":
            return board.measured(item, msgspec.convert(value, Speed))
        if item.kind == "profile":
            return board.profiled(item, value)
        if item.kind == "propose":
            return board.proposed(item, msgspec.convert(value, Proposed).candidates)
        return board.judged(item, msgspec.convert(value["verdict"], Verdict))

    def _final(self) -> Callable[[Item, Outcome[Any]], bool]:
        """Whether what an earlier execution recorded still counts. Of the original no failure does.

        Asked for once, where the fan-out begins: later the code around is that of another item.
        """
        around = current.get()
        again = around is not None and around.again  # inside a step that is tried once more

        def counts(item: Item, recorded: Outcome[Any]) -> bool:
            failures = not again and item.kind != "baseline"
            return (recorded.ok or failures) and self._kept(item, recorded.value)

        return counts


def needs_of(item: Item, slots: int) -> Mapping[str, int]:
    """Which permits an item takes. What is measured is alone on the CPU."""
    if item.kind == "propose":
        return {PROPOSE: 1}
    if item.kind == "verdict":
        return {}
    if item.kind == "benchmark":
        return {WORKSPACES: 1, CPU: slots}
    if item.kind == "baseline" and item.key not in IN_WORKSPACES:
        return {CPU: slots if item.stage == "noise" else 1}
    return {WORKSPACES: 1, CPU: 1}
