"""A run: one execution, usually durable, with an id under which it can be resumed.

Opening a run under an id that exists continues it: recorded outcomes are returned, and what had
not finished runs again. Opening is quick and needs no event loop, so sync and async code use the
same `with`. What a run has in its journal is in `durable_run.py`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from fanwise.core.budget import Budget, BudgetLike, as_budget
from fanwise.core.caps import Caps, CapsLike, as_caps
from fanwise.core.counts import COUNTED, Counts
from fanwise.core.outcome import Outcome, Usage
from fanwise.core.run_id import check_run_id
from fanwise.core.stats import CombinedStats, Stats
from fanwise.crashpoint import crash_point
from fanwise.errors import UsageError
from fanwise.journal import port
from fanwise.journal.codec import JSON, Codec
from fanwise.kernel import events
from fanwise.kernel.cap_changes import CapChanges
from fanwise.kernel.durable_run import DurableRun, JournalLike, RunRequest, open_durable_run
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.recorded_halts import HALT, HaltNote
from fanwise.kernel.recorder import Recorder
from fanwise.kernel.scope import FanOutPaths
from fanwise.kernel.work import is_async
from fanwise.kernel.workers import Workers, WorkPlace, check_place, note_of

if TYPE_CHECKING:
    from fanwise.kernel.engine import Engine
    from fanwise.kernel.shared_caps import LeaseKeeper

MEMORY = ":memory:"
"""As a journal: none. The run has subscribers, caps and a budget, but nothing on disk."""


def open_run(
    id: str | None = None,  # noqa: A002 - the word that people use
    *,
    journal: JournalLike | None = None,
    resume: bool | None = None,
    retry_failed: bool = False,
    take_over: bool = False,
    may_change: bool = False,
    kind: str = "fan_out",
    name: str = "",
    spec: Any = None,
    codec: Codec = JSON,
    caps: CapsLike | None = None,
    budget: BudgetLike | None = None,
    subscribers: Iterable[events.Subscriber] = (),
    on: WorkPlace | None = None,
) -> Run:
    """A run, to be used in `with` or `async with`.

    `id`: its name in the journal; default: a new one. `resume`: None continues the run if it
    exists and creates it otherwise, True requires that it exists, False that it does not.
    `retry_failed`: items that had failed run again too. `take_over`: resume even if another
    machine may still own the run. `spec`: what is being run, as JSON-able data. A resume needs the
    same one, unless it `may_change`: then the run continues with the new one and keeps the items
    whose keys are the same. `journal`: a path, a URL, a `Journal`, or ":memory:" for none;
    default: what FANWISE_JOURNAL says, or `.fanwise/journal.db` in the working directory. `on`:
    where the attempts of its fan-outs run, such as `Ray()`; default: in this process.
    """
    if id is not None:
        check_run_id(id)
    if not isinstance(subscribers, Iterable):
        raise UsageError(f"subscribers is {subscribers!r}", "Give a list of functions")
    subscribers = [*subscribers]
    for each in subscribers:
        if not callable(each) or is_async(each):
            step = "Give functions that are not async: nobody would await them"
            raise UsageError(f"a subscriber is {each!r}", step)
    request = RunRequest(
        id=id or new_run_id(),
        kind=kind,
        name=name,
        spec=codec.encode(spec) if spec is not None else "null",
        resume=resume,
        take_over=take_over,
        may_change=may_change,
    )
    return Run(
        request,
        journal=journal,
        retry_failed=retry_failed,
        codec=codec,
        caps=as_caps(caps),
        budget=as_budget(budget),
        subscribers=subscribers,
        on=None if on is None else check_place(on),
    )


def new_run_id() -> str:
    """A new id: sortable by time, and short enough to type."""
    return f"{time.strftime('%y%m%d-%H%M%S')}-{os.urandom(2).hex()}"


class Run:
    """Made by `open_run`."""

    def __init__(
        self,
        request: RunRequest,
        *,
        journal: JournalLike | None,
        codec: Codec,
        retry_failed: bool = False,
        caps: Caps | None = None,
        budget: Budget | None = None,
        subscribers: Iterable[events.Subscriber] = (),
        on: WorkPlace | None = None,
    ) -> None:
        self.id = request.id
        self.kind = request.kind
        self.on = on
        """Where attempts run; None: in this process."""
        self.codec = codec
        self.caps = caps
        self.budget = budget
        self.subscribers = events.Subscribers(subscribers)
        self.record: port.RunRecord | None = None
        self.resumed = False
        self._used = False
        self.retries_failed = retry_failed
        """Whether items that had failed run again."""
        self.halting: Literal["halted", "cancelled"] | None = None
        """Nothing more starts (halted), and what was in flight was ended (cancelled)."""
        self.hide: Callable[[str], str] = str
        """Removes secrets from the errors that are recorded."""
        self.fan_out_paths = FanOutPaths()
        self._request = request
        self._given_journal = journal
        self._durable: DurableRun | None = None
        """None: in memory, or not open."""
        self._ends_as: tuple[port.RunStatus, str | None] | None = None
        self._cut_short: str | None = None
        """Why this run, or a fan-out of it, did less than it was asked."""
        self.engines: set[Engine[Any, Any]] = set()
        """Its fan-outs that are not inside an item."""
        self._cap_changes = CapChanges(self)
        self._stats = CombinedStats()
        self._unwatch: Callable[[], None] | None = None
        self._watched: dict[Workers, tuple[int, Callable[[], None]]] = {}
        """Workers whose coming and going is reported, and by how many."""
        self._leases: LeaseKeeper | None = None
        self._epoch = time.time() - time.monotonic()
        """The time of day at which the monotonic clock was 0."""

    # -- with -----------------------------------------------------------------------------------

    def __enter__(self) -> Run:
        self._use_once()
        if self.on is not None or self._given_journal != MEMORY:
            self._open_all()
        return self._opened()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        status = self._final_status(error)
        self._detach()
        self._close(status, error)
        self._emit(events.RunEnded, run_id=self.id, status=status)

    async def __aenter__(self) -> Run:
        self._use_once()
        if self.on is not None or self._given_journal != MEMORY:
            try:
                # In a thread: imports, migrations, and other processes that lock the file.
                await in_thread(self._open_all)
            except asyncio.CancelledError:
                # It is open by now, and nobody else would close it.
                self._close("cancelled", None)
                raise
        if self.on is None:
            return self._opened()
        workers = await self._first_workers(self.on)
        self._opened()
        self.watch_workers(workers)
        return self

    async def _first_workers(self, on: WorkPlace) -> Workers:
        """Wait for workers, so that this is not a part of the first item's time."""
        try:
            async with on.workers() as workers:
                return workers
        except BaseException as error:
            await in_thread(self._close, "failed", error)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        status = self._final_status(error)
        self._detach()
        try:
            if self._durable is not None or self.on is not None:
                await in_thread(self._close, status, error)
        finally:
            if self._durable is None:  # it is on disk, even if this was cancelled meanwhile
                self._emit(events.RunEnded, run_id=self.id, status=status)

    # -- orders from outside --------------------------------------------------------------------

    def halt(self, reason: str = "halted") -> None:
        """Start nothing more; items in flight finish. May be called from any thread."""
        self.halting = self.halting or "halted"
        for engine in list(self.engines):
            engine.order(engine.halt, reason)

    def cancel(self, reason: str = "cancelled") -> None:
        """Cancel what is in flight too. May be called from any thread."""
        self.halting = "cancelled"
        self.note("cancel", {"reason": reason})
        for engine in list(self.engines):
            engine.order(engine.cancel, reason)

    def end_as(
        self, status: Literal["done", "paused", "halted", "failed"], error: str | None = None
    ) -> None:
        """Set the status with which the block ends, unless something interrupts it before."""
        self._ends_as = (status, error)

    def conclude(self, counts: Counts) -> None:
        """Record the progress it made. A run that did less than it was asked ends as halted."""
        self.note(COUNTED, msgspec.to_builtins(counts))
        self._cut_short = counts.short or None
        if counts.enough:
            self.halting = None  # it halted because it has all that was asked for

    @property
    def ending(self) -> tuple[port.RunStatus, str | None]:
        """The status with which the block would end now, and why."""
        if self.halting is not None:
            return self.halting, self._cut_short
        if self._ends_as is not None:
            return self._ends_as
        return "done" if self._cut_short is None else "halted", self._cut_short

    # -- for the kernel -------------------------------------------------------------------------

    @property
    def durable_id(self) -> str | None:
        """The id under which it is on disk; None: in memory."""
        return None if self._durable is None else self.id

    @property
    def place_of_calls(self) -> WorkPlace | None:
        """Where calls that may travel are made, even if their items stay here."""
        return self.on

    def watch_workers(self, workers: Workers) -> Callable[[], None]:
        """Report and record those that come and go, once, until the returned function is called."""
        users, unwatch = self._watched.get(workers, (0, None))
        self._watched[workers] = (users + 1, unwatch or workers.watch(self._worker_changed))
        return lambda: self._unwatch_workers(workers)

    def _unwatch_workers(self, workers: Workers) -> None:
        users, unwatch = self._watched.pop(workers)
        if users > 1:
            self._watched[workers] = (users - 1, unwatch)
        else:
            unwatch()

    def _worker_changed(self, event: events.WorkerEvent) -> None:
        self.subscribers.emit(event)
        self.note(*note_of(event))

    @property
    def stats(self) -> Stats:
        """The stats of its fan-outs that have ended in this process."""
        return self._stats.stats

    @property
    def is_open(self) -> bool:
        """Whether fan-outs can be made in it."""
        return self._given_journal == MEMORY or self._durable is not None

    @property
    def journal(self) -> port.Journal | None:
        """Where it is recorded; None: in memory."""
        return None if self._durable is None else self._durable.journal

    @property
    def given_journal(self) -> str | os.PathLike[str] | None:
        """The path or URL that it was given; None: the default journal, or a `Journal`."""
        given = self._given_journal
        return given if isinstance(given, str | os.PathLike) else None

    def lease_keeper(self) -> LeaseKeeper | None:
        """Renews its leases of shared caps on the running loop; None: it has no journal."""
        if self._durable is None:
            return None
        loop = asyncio.get_running_loop()
        if self._leases is not None and self._leases.loop is not loop:
            self._leases.detach()
            self._leases.close()  # the loop that it was for has ended
            self._leases = None
        if self._leases is None:
            from fanwise.kernel.shared_caps import LeaseKeeper

            self._leases = LeaseKeeper(self._durable.journal, loop)
        return self._leases

    def recorder(
        self, path: str, cap: int, halt: str, codec: Codec, *, again: bool
    ) -> Recorder | None:
        """Records one fan-out; None in memory."""
        if self._durable is None:
            return None
        again = again or self.retries_failed
        found = self._durable.recorder(path, cap, halt, codec, again=again)
        found.hide = self.hide
        return found

    def halted(self, path: str, outcome: Outcome[Any] | None, reason: str) -> None:
        """A fan-out starts nothing more: because of this outcome, or because it was told to."""
        if outcome is None:
            self.note(HALT, HaltNote(path, reason=reason))
            return
        self.note(HALT, HaltNote(path, outcome.index, outcome.key, reason))
        if self._durable is not None and reason == "when":
            self._durable.remember_halt(path, outcome.key)

    def spent_in(self, path: str) -> Iterable[Usage]:
        """What a fan-out spent in earlier executions. Read it in a thread, if there is anything."""
        return () if self._durable is None else self._durable.spent_in(path)

    def joined(self, engine: Engine[Any, Any]) -> None:
        """A fan-out begins that is not inside an item."""
        self.engines.add(engine)
        if self._durable is None:
            return
        self._cap_changes.joined(engine)
        if self._unwatch is None:
            self._unwatch = self._durable.watch(
                lambda: self.cancel("cancel requested"), self._cap_changes.ask
            )

    def left(
        self, engine: Engine[Any, Any], stats: Stats, now: float, cut_short: str | None
    ) -> None:
        """A fan-out has ended. `cut_short`: why it did less than all of its items."""
        self._cut_short = self._cut_short or cut_short
        self.engines.discard(engine)
        self._stats.add(stats, now)
        if not self.engines and self._unwatch is not None:
            self._unwatch()
            self._unwatch = None

    def note(self, kind: str, data: Any) -> None:
        """Record an event that is worth knowing later.

        It is on disk before any item that starts after it, but perhaps not when this returns.
        """
        if self._durable is not None:
            self._durable.note(kind, data)

    async def note_on_disk(self, kind: str, data: Any) -> None:
        """Record an event, and return once it is on disk: before acting on what it says."""
        self.note(kind, data)
        if self._durable is not None:
            await self._durable.all_on_disk()

    def wall(self) -> float:
        """The time of day, never running backwards, so that the journal stays in order."""
        return self._epoch + time.monotonic()

    # -- inside ---------------------------------------------------------------------------------

    def _use_once(self) -> None:
        """Refuse a second use: it would not find its fan-outs again, as their names are taken."""
        if self._used:
            raise UsageError(f"the run {self.id!r} was opened before", "Call `open_run` again")
        self._used = True

    def _opened(self) -> Run:
        self._emit(events.RunStarted, run_id=self.id, resumed=self.resumed)
        return self

    def _open_all(self) -> None:
        if self.on is not None:
            self.on.start()
        try:
            if self._given_journal != MEMORY:
                self._open()
        except BaseException:
            if self.on is not None:
                self.on.stop()
            raise

    def _open(self) -> None:
        durable = open_durable_run(self._request, self._given_journal, self._epoch)
        self.record, self.resumed, self._durable = durable.record, durable.resumed, durable
        if self.budget is not None:
            self.budget.already_spent(self.id, durable.spent())
        crash_point("run.created")

    def _final_status(self, error: BaseException | None) -> port.RunStatus:
        if error is None or self.halting is not None:
            return self.ending[0]
        return "failed" if isinstance(error, Exception) else "cancelled"

    def _detach(self) -> None:
        for _, unwatch in self._watched.values():
            unwatch()
        self._watched.clear()
        if self._leases is not None:
            self._leases.detach()

    def _close(self, status: port.RunStatus, error: BaseException | None) -> None:
        if self._leases is not None:
            self._leases.close()
            self._leases = None
        try:
            self._close_journal(status, error)
        finally:
            if self.on is not None:
                self.on.stop()

    def _close_journal(self, status: port.RunStatus, error: BaseException | None) -> None:
        if self._durable is not None:
            reason = self.ending[1] if error is None else f"{type(error).__name__}: {error}"
            failed = self._durable.close(status, None if reason is None else self.hide(reason))
            self._durable = None
            if failed is not None and error is None:
                raise failed

    def _emit(self, kind: Callable[..., events.Event], **fields: Any) -> None:
        if self.subscribers:
            self.subscribers.emit(kind(at=time.monotonic(), **fields))


RunLike = Run | str


def run_of(given: RunLike | None) -> AbstractAsyncContextManager[Run | None]:
    """Resolve an argument `run`: an open run stays open, an id is opened for the block."""
    if isinstance(given, str):
        return open_run(given)
    if given is None:
        return nullcontext()
    if not isinstance(given, Run):
        raise UsageError(f"run is {given!r}", "Give an id, or what `open_run` returned")
    if not given.is_open:
        raise UsageError(f"the run {given.id!r} is not open", "Use it in `async with open_run(…)`")
    return nullcontext(given)
