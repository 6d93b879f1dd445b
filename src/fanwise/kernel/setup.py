"""What `fan_out` and `fan_out_stream` share: a fan-out from its arguments to its end."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Sized,
)
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar

import msgspec

from fanwise.core.budget import Budget, BudgetLike, Budgets, as_budget
from fanwise.core.caps import CapsLike, Needs, as_caps, whole
from fanwise.core.counts import Counts
from fanwise.core.halt import Halt
from fanwise.core.ledger import Ledger
from fanwise.core.outcome import Outcome, Usage
from fanwise.core.retry import Retry, RetryLike, as_retry
from fanwise.core.schedule import Schedule
from fanwise.core.stats import Stats
from fanwise.errors import UsageError
from fanwise.kernel import events
from fanwise.kernel.dispatch import dispatcher_of
from fanwise.kernel.engine import Engine
from fanwise.kernel.feed import Feed
from fanwise.kernel.open_item import OpenItem
from fanwise.kernel.recorder import Recorder
from fanwise.kernel.run import Run, RunLike
from fanwise.kernel.scope import NOTHING_HELD, FanOutScope, current, ledger_here
from fanwise.kernel.threads import Threads
from fanwise.kernel.work import codec_for
from fanwise.kernel.workers import Here, On, Workers
from fanwise.processes.command import Command

if TYPE_CHECKING:
    from fanwise.kernel.shared_caps import SharedCapUser

I = TypeVar("I")  # noqa: E741
T = TypeVar("T")
NO_SUBSCRIBERS = events.Subscribers()
NO_BUDGETS = Budgets()

Work = Callable[[I], Awaitable[T]] | Callable[[I], T] | Command
Items = Iterable[I] | AsyncIterable[I] | Feed[I]


class FanOutOptionsInRun(TypedDict, Generic[I], total=False):
    """The keyword arguments of `fan_out` without `run`."""

    cap: int
    caps: CapsLike | None
    needs: Callable[[I], Needs] | None
    halt: Halt
    retry: RetryLike
    timeout: float | None
    key: Callable[[I], str] | None
    name: str | None
    budget: BudgetLike | None
    reuse: Callable[[I, Outcome[Any]], bool] | None
    record: bool


class FanOutOptions(FanOutOptionsInRun[I], total=False):
    """The keyword arguments of `fan_out`, where they are explained."""

    run: RunLike | None
    on: On | None


class FanOut(Generic[I, T]):
    """One fan-out: checks its arguments, sets up its engine, and cleans up at its end."""

    def __init__(
        self,
        deliver: Callable[[Outcome[T]], None],
        work: Work[I, T],
        items: Items[I],
        *,
        cap: int = 10,
        caps: CapsLike | None = None,
        needs: Callable[[I], Needs] | None = None,
        halt: Halt = Halt.never(),  # noqa: B008 - frozen
        retry: RetryLike = Retry.none(),  # noqa: B008
        timeout: float | None = None,
        key: Callable[[I], str] | None = None,
        run: Run | None = None,
        name: str | None = None,
        budget: BudgetLike | None = None,
        reuse: Callable[[I, Outcome[Any]], bool] | None = None,
        record: bool = True,
        workers: Workers | None = None,
    ) -> None:
        whole("cap", cap)
        _check_kinds(halt=halt, name=name)
        caps, retry, budget = as_caps(caps), as_retry(retry), as_budget(budget)
        around = current.get()
        self.around = around
        self.loop = asyncio.get_running_loop()
        self.run = run or (around.fan_out.run if around else None)
        # Passing the current run inside one of its own items changes nothing.
        self.top = around is None or (run is not None and run is not around.fan_out.run)
        ledger = ledger_here(caps, self.run)
        self.threads = Threads("fanwise")
        self._workers = workers
        self._unwatch: Callable[[], None] | None = None
        attempt = (workers or Here(self.threads)).attempter(work, timeout)
        source = _source(items)
        size = len(items) if isinstance(items, Sized) else None
        self.cap = cap
        self.total = None if isinstance(items, Feed) else size
        self.path = self._path(name, around)
        self._budget: Budget | None = None
        self._spent: Iterable[Usage] = ()
        self.scope = self._make_scope(ledger, budget)
        self.recorder = self._make_recorder(work, halt, reuse=reuse is not None) if record else None
        if self.recorder is not None and self.recorder.halts:
            halt = halt.also_at(self.recorder.halts)
        self.engine: Engine[I, T] = Engine(
            scope=self.scope,
            schedule=Schedule(ledger, cap, halt, now=self.loop.time()),
            dispatcher=dispatcher_of(ledger),
            attempt=attempt,
            source=source,
            ahead=needs is not None and size is not None,
            needs=needs,
            key=key,
            retry=retry,
            recorder=self.recorder,
            deliver=deliver,
            reuse=reuse,
            starts_with_call=self._starts_with_call(items),
            before=self._count_earlier if self._spent else None,
        )
        self._shared = self._share(ledger)

    def _share(self, ledger: Ledger) -> SharedCapUser | None:
        """Lease permits of the caps that other processes use, too; the same for other limits."""
        if not (self.scope.budgets.shared or any(r.is_shared for r in ledger.resources.values())):
            return None
        from fanwise.kernel.shared_caps import SharedCapUser

        keeper = (lambda: None) if self.run is None else self.run.lease_keeper
        return SharedCapUser(ledger, self.scope.budgets, keeper, self.engine.abort)

    def _starts_with_call(self, items: Items[I]) -> Callable[[I], bool] | None:
        """See `Feed`. Workers elsewhere make calls that are not seen here in time."""
        return items.starts_with_call if isinstance(items, Feed) and self._workers is None else None

    def _make_scope(self, ledger: Ledger, budget: Budget | None) -> FanOutScope:
        around, run = self.around, self.run
        if run is not None and budget is not None:
            self._budget, self._spent = budget, run.spent_in(self.path)
            if not self._spent:
                budget.already_spent(f"{run.id}/{self.path}", ())
        return FanOutScope(
            loop=self.loop,
            ledger=ledger,
            budgets=_budgets(run, around, budget),
            run=run,
            subscribers=run.subscribers if run is not None else NO_SUBSCRIBERS,
            path=self.path,
            held=around.held if around is not None else NOTHING_HELD,
            threads=self.threads,
            again=around is not None and around.again,
            away=self._workers is not None or (run is not None and run.place_of_calls is not None),
        )

    async def _count_earlier(self) -> None:
        """Charge its own budget with what it spent in earlier executions."""
        assert self._budget is not None and self.run is not None
        usages: list[Usage] = await self.threads.run(list, self._spent)
        self._budget.already_spent(f"{self.run.id}/{self.path}", usages)

    def _make_recorder(self, work: Work[I, T], halt: Halt, *, reuse: bool) -> Recorder | None:
        """Records the items; None: in memory."""
        if self.run is None:
            return None
        codec = codec_for(work, self.run.codec)
        # With `reuse`, the caller decides what is valid of an earlier attempt.
        again = self.scope.again and not reuse
        return self.run.recorder(self.path, self.cap, halt.kind, codec, again=again)

    def _path(self, name: str | None, around: OpenItem[Any, Any] | None) -> str:
        if around is not None and not self.top:
            return around.fan_out_paths.path(name, around.path)
        return self.run.fan_out_paths.path(name, None) if self.run is not None else name or "#0"

    def begin(self) -> None:
        """Register with the run, and halt at once if the run is halting."""
        if self.run is not None and self.top:
            self.run.joined(self.engine)
        if self.scope.subscribers:
            self._emit(events.FanOutStarted, cap=self.cap, total=self.total)
        if self._workers is not None and self.run is not None:
            self._unwatch = self.run.watch_workers(self._workers)
        if self.run is not None and self.top and self.run.halting is not None:
            self.engine.halt(self.run.halting)

    def end(self) -> Stats:
        """Clean up after the engine has ended."""
        if self._unwatch is not None:
            self._unwatch()
        self.threads.close()
        if self._shared is not None:
            self._shared.leave()
        stats = self.engine.schedule.stats(self.loop.time(), self.scope.work_s)
        if self.around is not None:
            self._add_work_around(self.around.fan_out, stats)
            self.around.inside.add(stats, self.loop.time())
        if self.run is not None and self.top:
            self.run.left(self.engine, stats, self.loop.time(), self._cut_short())
        if self.recorder is not None:
            self.recorder.closed(self._status(), msgspec.json.encode(stats).decode())
        if self.scope.subscribers:
            self._emit(events.FanOutEnded, stats=stats)
        return stats

    def _add_work_around(self, around: FanOutScope, stats: Stats) -> None:
        """Work inside an item counts for the fan-out around it too."""
        theirs = around.ledger.resources
        for name, resource in self.scope.ledger.resources.items():
            if theirs.get(name) is resource:
                seconds = stats.work_s.get(name, 0.0)
                around.work_s[name] = around.work_s.get(name, 0.0) + seconds

    def report_counts(self, counts: Callable[[], Counts], *, recorded: bool) -> None:
        """Report the progress to subscribers."""
        if self.scope.subscribers:
            self._emit(events.Counted, counts=counts(), recorded=recorded)

    def _cut_short(self) -> str | None:
        """Why items were not done, if a failure halted it. A halt on success does not count.

        If the items cannot be counted, there may have been more.
        """
        schedule = self.engine.schedule
        by = schedule.halted_by
        if by is None or schedule.halt.kind != "failure":
            return None
        known = self.engine.intake.pulled if schedule.exhausted else self.total
        return None if known == by + 1 else f"item {by} of {self.path} failed, and halted it"

    def _status(self) -> str:
        if self.engine.fatal is not None:
            return "failed" if isinstance(self.engine.fatal, Exception) else "cancelled"
        halted = self.engine.halt_reason is not None or self.engine.schedule.halted_by is not None
        return "halted" if halted else "done"

    def _emit(self, kind: Callable[..., events.Event], **fields: Any) -> None:
        self.scope.subscribers.emit(kind(at=self.loop.time(), path=self.path, **fields))


def _check_kinds(*, halt: object, name: object) -> None:
    """Refuse arguments of the wrong type here, not where they first break something."""
    if not isinstance(halt, Halt):
        raise UsageError(f"halt is {halt!r}", "Give a Halt, such as Halt.on_failure()")
    if name is not None and not isinstance(name, str):
        raise UsageError(f"name is {name!r}", "Give text")


def _source(items: Items[I]) -> Iterator[I] | AsyncIterator[I] | Feed[I]:
    if isinstance(items, Feed):
        return items
    if isinstance(items, AsyncIterable):
        return aiter(items)
    try:
        return iter(items)
    except TypeError as error:
        kind = type(items).__name__
        raise UsageError(f"items is a {kind}", "Give an iterable or async iterable") from error


def _budgets(run: Run | None, around: OpenItem[Any, Any] | None, own: Budget | None) -> Budgets:
    """Its own budget, in addition to those around it and the run's."""
    found = NO_BUDGETS if around is None else around.fan_out.budgets
    return found.within(None if run is None else run.budget, own)
