"""Runs what the board decides: each of its items is one of one fan-out, recorded once.

A recorded outcome counts if all that decides it is as it was: that is what `Item.of` says. So a
resume repeats nothing, and when the plan is made again, only what has changed is done anew.
"""

from __future__ import annotations

import heapq
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any

import msgspec

from fanwise.core.caps import Caps
from fanwise.core.outcome import Outcome
from fanwise.errors import FanwiseError, RecordedError, one_line
from fanwise.kernel.feed import Feed
from fanwise.kernel.run import Run
from fanwise.kernel.scope import current
from fanwise.kernel.stream import Stream, fan_out_stream
from fanwise.plan.driver.board import Board
from fanwise.plan.driver.item import Item
from fanwise.plan.ended import Ended
from fanwise.plan.merge.merged import Checked, MergeStep, Result
from fanwise.plan.split.scorecard import urgency

FAN_OUT = "plan"
WORKSPACES = "workspaces"
SUB_PLANS = ("leaf", "again")

Perform = Callable[[Item], Awaitable[Any]]
"""Does an item; what it gives is plain data, as the journal keeps it."""


class Driver:
    """One execution of a run. `lost`: keys of records whose objects git does not have any more."""

    def __init__(
        self,
        board: Board,
        perform: Perform,
        *,
        lost: Collection[str] = (),
        grew: Callable[[Board], None] = lambda board: None,
    ) -> None:
        self._board = board
        self._perform = perform
        self._lost = lost
        self._grew = grew
        """Is told when the tree is another."""
        self._feed: Feed[Item] = Feed()
        self._ready: list[tuple[float, int, Item]] = []
        """Those that are not in the feed yet, the most urgent first."""
        self._added = 0
        self._items: dict[str, Item] = {}
        """By key, those that are, and whose outcome was not told yet."""
        self._urgency: dict[str, int] = {}
        self._followers = False
        """Whether leaves follow others."""
        self.errors: dict[str, BaseException] = {}
        """Of leaves that failed, by the key of the item."""
        self.twice: list[str] = []
        """What ran when an earlier execution was killed, and was done now."""
        self.fatal: BaseException | None = None
        """Why a merge, a check or the result could not be made."""

    def take(self, item: Item, outcome: Outcome[Any]) -> list[Item]:
        """What came of an item, now or before: what is to be done next."""
        if outcome.status in ("cancelled", "skipped"):
            return []  # the run is being ended, and nothing is known
        if outcome.ok:
            return self._next(item, outcome.unwrap())
        assert outcome.error is not None
        if item.kind not in SUB_PLANS:
            self.fatal = outcome.error
            return self._board.fail()
        self.errors[item.key] = outcome.error
        reason = reason_of(outcome.error)
        if item.kind == "leaf":
            return self._board.leaf_failed(item, reason)
        assert self._board.joining is not None
        return self._board.joining.again_failed(item, reason)

    def _next(self, item: Item, value: Any) -> list[Item]:
        board, joining = self._board, self._board.joining
        if item.kind == "leaf":
            before = board.tree
            items = board.leaf_done(item, msgspec.convert(value, Ended))
            if board.tree is not before:
                self._grew(board)
            return items
        assert joining is not None
        if item.kind == "merge":
            return joining.merged(item, msgspec.convert(value, MergeStep))
        if item.kind == "again":
            return joining.again_done(item, msgspec.convert(value, Ended))
        if item.kind == "check":
            return joining.checked(item, msgspec.convert(value, Checked))
        return joining.left(msgspec.convert(value, Result))

    async def run(self, cap: int, caps: Caps, run: Run | None) -> None:
        """All of it; the board has what came of it."""
        stream: Stream[Any] = fan_out_stream(
            self._told,
            self._feed,
            cap=cap,
            caps=caps,
            needs=needs_of,
            key=lambda item: item.key,
            run=run,
            name=FAN_OUT,
            reuse=self._final(),
        )
        async with stream:
            self._add(self._board.begin(), cap)
            async for outcome in stream:
                item = self._items.pop(outcome.key)
                if outcome.may_have_run_twice and not outcome.recorded:
                    self._note_twice(item)
                self._add(self.take(item, outcome), cap)
                if self._board.over and self._items:
                    return  # it was halted: what is in flight is ended

    def _note_twice(self, item: Item) -> None:
        """What others do, that is: a merge may be made as often as one likes."""
        if item.leaf is not None or item.kind == "check":
            self.twice.append("the check" if item.leaf is None else item.leaf.title)

    async def _told(self, item: Item) -> Any:
        """Do it; a failure says what it is a failure of."""
        try:
            return await self._perform(item)
        except FanwiseError as error:
            error.of = item.of  # type: ignore[attr-defined]  # kept with the fields of the error
            raise

    def _add(self, items: Iterable[Item], cap: int) -> None:
        """Let them begin, the most urgent first."""
        for item in items:
            heapq.heappush(self._ready, (self._rank(item), self._added, item))
            self._added += 1
        # What is in the feed begins the moment another ends, before it is known what that one has
        # made ready. So where leaves follow others, those that could wait do not stand in it.
        while self._ready and (not self._followers or len(self._items) < cap):
            item = heapq.heappop(self._ready)[2]
            self._items[item.key] = item
            self._feed.add(item)
        if self._board.over:
            self._feed.close()

    def _rank(self, item: Item) -> float:
        """Of those that could begin, the one with the longest chain behind it goes first."""
        if item.leaf is None:
            return 0.0
        if item.leaf.id not in self._urgency:  # the tree is new, or has grown
            leaves = self._board.tree.leaves
            self._urgency = urgency(leaves)
            self._followers = any(leaf.after for leaf in leaves)
        return -self._urgency.get(item.leaf.id, 0)

    def _final(self) -> Callable[[Item, Outcome[Any]], bool]:
        """Whether what an earlier execution recorded still counts.

        Asked for once, where the fan-out begins: later the code around is that of another item.
        """
        around = current.get()
        again = around is not None and around.again  # inside a step that is tried once more

        def still(item: Item, recorded: Outcome[Any]) -> bool:
            failures_count = item.kind in SUB_PLANS and not again
            return item.key not in self._lost and counts(item, recorded, failures_count)

        return still


def counts(item: Item, recorded: Outcome[Any], failures_count: bool) -> bool:
    """Whether an outcome of the past is of this very item."""
    if recorded.ok:
        return isinstance(recorded.value, dict) and recorded.value.get("of") == item.of
    error = recorded.error
    return failures_count and isinstance(error, RecordedError) and error.fields.get("of") == item.of


def reason_of(error: BaseException) -> str:
    """Why a leaf was given up, in a line: its last try, or the kind of error and its text."""
    fields = error.fields if isinstance(error, RecordedError) else vars(error)
    tries = fields.get("tries")
    if tries:
        last = msgspec.to_builtins(tries[-1])
        return f"{last['stage']} failed: {last['reason']}"
    return one_line(error)


def needs_of(item: Item) -> Mapping[str, int]:
    """Which permits an item takes."""
    return {} if item.kind in ("merge", "result") else {WORKSPACES: 1}
