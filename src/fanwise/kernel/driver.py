"""The loop that all systems share: feed items, stream outcomes, ask what follows, stop when over.

The system decides, the driver performs. A system is a `Decider`: a state machine without clock,
files or tasks that returns the first items and, for every outcome, the items that follow from it.
All items belong to one fan-out, so they are bounded, recorded, resumed and cancelled like any
others. On a resume the recorded outcomes lead through the same decisions to the same state.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, Protocol, TypedDict, TypeVar, Unpack, runtime_checkable

from fanwise.core.budget import BudgetLike
from fanwise.core.caps import CapsLike, Needs
from fanwise.core.counts import Counts
from fanwise.core.outcome import Outcome
from fanwise.core.ready_queue import QueueLimit, ReadyQueue
from fanwise.core.retry import RetryLike
from fanwise.core.stats import Stats
from fanwise.errors import UsageError
from fanwise.kernel.feed import Feed
from fanwise.kernel.run import RunLike
from fanwise.kernel.scope import current
from fanwise.kernel.stream import Stream, fan_out_stream

__all__ = ["Decider", "Driver", "DriverOptions", "Keyed", "QueueLimit"]


class Keyed(Protocol):
    """An item of a driven fan-out."""

    @property
    def key(self) -> str:
        """Its identity across resumes, because the order of items depends on timing."""


I = TypeVar("I", bound=Keyed)  # noqa: E741
Reuse = Callable[[I, Outcome[Any]], bool]


class Decider(Protocol[I]):
    """The decisions of a system: which items there are, and what follows from their outcomes."""

    @property
    def over(self) -> bool:
        """Whether everything is decided. Items still in flight are then cancelled."""

    def begin(self) -> Iterable[I]:
        """The items that can start at once."""

    def take(self, item: I, outcome: Outcome[Any]) -> Iterable[I]:
        """The items that follow from an outcome: done or failed, new or recorded.

        Not called for cancelled and skipped items: the run is ending, and their outcomes are open.
        """


@runtime_checkable
class CountingDecider(Protocol):
    """A decider whose users count something other than items: cells, candidates."""

    def count(self) -> Counts:
        """The progress so far. Called after every outcome, so it must be quick."""


class DriverOptions(TypedDict, Generic[I], total=False):
    """The keyword arguments of `fan_out` that a driver passes on."""

    cap: int
    caps: CapsLike | None
    needs: Callable[[I], Needs] | None
    retry: RetryLike
    timeout: float | None
    run: RunLike | None
    name: str | None
    budget: BudgetLike | None


class Driver(Generic[I]):
    """One execution: `await Driver(decider, work, name=…).run()`.

    `work` performs one item. `limit`: the queue of an item, and how many of that queue may be in
    the fan-out at once; default: no limit. `rank`: in each queue the lowest goes first. `drop`:
    called when an item's turn comes; True: the decider has noted that it is not needed, and it does
    not start. `after`: awaited after an outcome was taken, before anything that follows from it
    starts. `reuse`: as for `fan_out`, except that recorded failures never count while the item
    around is being retried. `starts_with_call`: as for a `Feed`.
    """

    def __init__(
        self,
        decider: Decider[I],
        work: Callable[[I], Awaitable[Any]],
        *,
        limit: Callable[[I], QueueLimit | None] = lambda item: None,
        rank: Callable[[I], float] = lambda item: 0.0,
        drop: Callable[[I], bool] = lambda item: False,
        after: Callable[[I, Outcome[Any]], Awaitable[None]] | None = None,
        reuse: Reuse[I] | None = None,
        starts_with_call: Callable[[I], bool] | None = None,
        **options: Unpack[DriverOptions[I]],
    ) -> None:
        self.late: list[tuple[I, Outcome[Any]]] = []
        """Set when `run` returns or raises: outcomes that were not taken because everything was
        already decided. These items ended or were cancelled, and may have cost something."""
        self.stats: Stats | None = None
        """Set when `run` returns or raises."""
        self._decider = decider
        # Whether it counts is looked up once: a look at a protocol takes longer than most outcomes.
        self._count = decider.count if isinstance(decider, CountingDecider) else None
        self._work = work
        self._after = after
        self._reuse = reuse
        self._options = options
        self._feed: Feed[I] = Feed(starts_with_call=starts_with_call)
        self._ready = ReadyQueue(limit, rank, drop)
        self._in_flight: dict[int, tuple[I, QueueLimit | None]] = {}
        """By index: items that were fed and whose outcomes were not taken yet."""
        self._fed = 0
        self._ending = False
        """Whether an item was cancelled or skipped, because the run is being ended from outside."""

    async def run(self) -> None:
        """Run until the decider is over, or until the run is halted or cancelled."""
        stream: Stream[Any] = fan_out_stream(
            self._work,
            self._feed,
            key=lambda item: item.key,
            reuse=_unless_tried_again(self._reuse),
            **self._options,
        )
        try:
            async with stream:
                await self._follow(stream)
        finally:
            self.stats = stream.stats
            self.late = [(self._in_flight.pop(each.index)[0], each) for each in stream.unread]

    async def _follow(self, stream: Stream[Any]) -> None:
        self._add(self._decider.begin())
        self._report_counts(stream, recorded=True)
        async for outcome in stream:
            item, limit = self._in_flight.pop(outcome.index)
            self._ready.left(limit)
            if outcome.status in ("cancelled", "skipped"):
                self._ending = True
                continue
            following = self._decider.take(item, outcome)
            self._report_counts(stream, recorded=outcome.recorded)
            if self._after is not None:
                await self._after(item, outcome)
            if self._add(following) and self._in_flight:
                return  # leaving the stream cancels the rest, and waits for it

    def _report_counts(self, stream: Stream[Any], *, recorded: bool) -> None:
        if self._count is not None:
            stream.report_counts(self._count, recorded=recorded)

    def _add(self, items: Iterable[I]) -> bool:
        """Feed what can start now. True: the decider is over."""
        self._ready.add(items)
        over = self._decider.over
        fresh = [] if over else self._ready.take()
        for each in fresh:
            self._in_flight[self._fed] = each
            self._fed += 1
        self._feed.add(*(item for item, _ in fresh))
        over = over or self._decider.over  # what was dropped may have been the last
        if over:
            self._feed.close()
        elif not self._in_flight and not self._ending:
            raise UsageError(
                f"{type(self._decider).__name__} is not over, but nothing is in flight",
                "Let `take` return what follows, or let `over` be true",
            )
        return over


def _unless_tried_again(reuse: Reuse[I] | None) -> Reuse[I] | None:
    """Call this before the fan-out begins, while the current item is the one around it."""
    around = current.get()
    if reuse is None or around is None or not around.again:
        return reuse  # without `reuse`, the kernel handles this itself
    return lambda item, recorded: recorded.ok and reuse(item, recorded)
