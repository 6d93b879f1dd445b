"""`fan_out_stream`: outcomes as they come."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Generic, TypeVar, Unpack, overload

from fanwise.core.counts import Counts
from fanwise.core.outcome import Outcome
from fanwise.core.stats import Stats
from fanwise.errors import ItemsError, UsageError
from fanwise.kernel.engine import Engine
from fanwise.kernel.home import refuse_away
from fanwise.kernel.run import Run, RunLike, run_of
from fanwise.kernel.setup import FanOut, FanOutOptions, FanOutOptionsInRun, Items
from fanwise.kernel.workers import On, Workers, workers_of
from fanwise.processes import Command, CommandResult

I = TypeVar("I")  # noqa: E741
T = TypeVar("T")
Build = Callable[[Callable[[Outcome[T]], None], Run | None, Workers | None], FanOut[Any, T]]


class Stream(Generic[T]):
    """Outcomes as they come. Made by `fan_out_stream`, used in `async with`."""

    BUFFER = 1_000
    """If this many outcomes wait for the reader, no more items are pulled."""
    AHEAD = 10
    """If ordered: up to this many times the cap, but at least `BUFFER`, wait for the reader or for
    their turn. The item whose turn it is was pulled before all that wait for it, so it ends
    even if nothing more is pulled."""

    def __init__(
        self, build: Build[T], ordered: bool, run: RunLike | None = None, on: On | None = None
    ) -> None:
        self._build = build
        self._run = run_of(run)
        self._on = on
        self._around = AsyncExitStack()
        """Its run, and its workers."""
        self._ordered = ordered
        self._early: dict[int, Outcome[T]] = {}
        self._ready: deque[Outcome[T]] = deque()
        self._next = 0
        self._most = self.BUFFER
        self._source_told = False
        self._news = asyncio.Event()
        self._one: FanOut[Any, T] | None = None
        self._task: asyncio.Task[None] | None = None
        self.stats: Stats | None = None
        """Set when the block is left."""
        self.unread: list[Outcome[T]] = []
        """Set when the block is left: outcomes that nobody had read, including those of items that
        were in flight. They ended, and may have cost something."""

    async def __aenter__(self) -> Stream[T]:
        refuse_away("fan_out_stream")
        if self._one is not None:
            raise UsageError("this stream was used before", "Make another with fan_out_stream")
        try:
            run = await self._around.enter_async_context(self._run)
            workers = await self._around.enter_async_context(workers_of(self._on, run))
            self._one = self._build(self._deliver, run, workers)
            if self._ordered:
                self._most = max(self.BUFFER, self.AHEAD * self._one.cap)
            self._one.begin()
        except BaseException as error:
            await self._around.__aexit__(type(error), error, error.__traceback__)
            raise
        self._task = asyncio.create_task(self._drive(self._one.engine))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self._leave(error)
        except BaseException as raised:
            await self._around.__aexit__(type(raised), raised, raised.__traceback__)
            raise
        await self._around.__aexit__(kind, error, traceback)

    async def _leave(self, error: BaseException | None) -> None:
        assert self._one is not None and self._task is not None
        engine = self._one.engine
        left_early = not self._task.done()
        if left_early:
            engine.cancel("left early")
        interrupted = await self._settle(self._task)
        self.stats = self._one.end()
        self.unread = [*self._ready, *self._early.values()]
        if interrupted is not None:
            raise interrupted
        problem = self._task.exception() or self._source_error()
        if problem is None or problem is error:
            return
        if error is None:
            raise problem
        error.add_note(f"the fan-out had ended with {problem!r}")

    def report_counts(self, counts: Callable[[], Counts], *, recorded: bool) -> None:
        """Report the progress to subscribers, in the unit that users count."""
        assert self._one is not None
        self._one.report_counts(counts, recorded=recorded)

    def __aiter__(self) -> AsyncIterator[Outcome[T]]:
        return self

    async def __anext__(self) -> Outcome[T]:
        if self._one is None or self._task is None:
            raise UsageError(
                "the stream is not open", "Use `async with fan_out_stream(…) as stream`"
            )
        while not self._ready:
            if self._task.done():
                self._task.result()
                if (problem := self._source_error()) is not None:
                    self._source_told = True
                    raise problem
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        outcome = self._ready.popleft()
        engine = self._one.engine
        if engine.intake.held_back and len(self._ready) <= self._most // 2 and not self._full:
            engine.intake.held_back = False
            engine.intake.pump()
        return outcome

    @property
    def _full(self) -> bool:
        return len(self._ready) + len(self._early) >= self._most

    async def _drive(self, engine: Engine[Any, T]) -> None:
        try:
            await engine.run()
        finally:
            self._news.set()

    async def _settle(self, task: asyncio.Task[None]) -> asyncio.CancelledError | None:
        interrupted = None
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as caught:
                interrupted = caught
                task.cancel()
        return interrupted

    def _deliver(self, outcome: Outcome[T]) -> None:
        assert self._one is not None
        engine = self._one.engine
        if not self._ordered:
            self._offer(outcome, engine)
        else:
            self._early[outcome.index] = outcome
            while self._next in self._early:
                self._offer(self._early.pop(self._next), engine)
                self._next += 1
        if self._full:
            engine.intake.held_back = True

    def _offer(self, outcome: Outcome[T], engine: Engine[Any, T]) -> None:
        by = engine.schedule.halted_by
        beyond = by is not None and outcome.index > by and engine.schedule.halt.kind != "fastest"
        if beyond:
            return
        self._ready.append(outcome)
        self._news.set()

    def _source_error(self) -> ItemsError | None:
        """What the items raised, unless it was reported already or a halt came first."""
        assert self._one is not None
        intake = self._one.engine.intake
        cause = intake.problem
        if cause is None or self._source_told:
            return None
        problem = ItemsError(intake.pulled, None)
        problem.__cause__ = cause
        return problem


@overload
def fan_out_stream(
    work: Command, items: Items[I], *, ordered: bool = ..., **options: Unpack[FanOutOptions[I]]
) -> Stream[CommandResult]: ...
@overload
def fan_out_stream(
    work: Callable[[I], Awaitable[T]],
    items: Items[I],
    *,
    ordered: bool = ...,
    **options: Unpack[FanOutOptions[I]],
) -> Stream[T]: ...
@overload
def fan_out_stream(
    work: Callable[[I], T],
    items: Items[I],
    *,
    ordered: bool = ...,
    **options: Unpack[FanOutOptions[I]],
) -> Stream[T]: ...
def fan_out_stream(
    work: Any,
    items: Items[I],
    *,
    ordered: bool = False,
    run: RunLike | None = None,
    on: On | None = None,
    **options: Unpack[FanOutOptionsInRun[I]],
) -> Stream[Any]:
    """Like `fan_out`, but yields each outcome as it finishes or, if `ordered`, in item order.

    Leaving the block early cancels and awaits the rest. A slow reader slows the fan-out down: no
    item is pulled while 1,000 outcomes wait. If `ordered`, so does a slow item: none is pulled
    while ten times the cap, and at least 1,000, wait for it or for the reader. Items that were
    pulled before still run. With `needs` that may be 10,000 more, pulled ahead to find one whose
    permits are free.
    """

    def build(
        deliver: Callable[[Outcome[Any]], None], opened: Run | None, workers: Workers | None
    ) -> FanOut[I, Any]:
        return FanOut(deliver, work, items, run=opened, workers=workers, **options)

    return Stream(build, ordered, run, on)
