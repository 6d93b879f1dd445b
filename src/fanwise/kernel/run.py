"""A run: one durable execution, with an id, that can be resumed.

Opening a run under an id that exists goes on with it: recorded outcomes are returned, what had
not finished runs again. Opening is quick and needs no event loop, so that sync and async code
use the same `with`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import os
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from fanwise.core.budget import Budget, BudgetLike, as_budget
from fanwise.core.caps import Caps, CapsLike, as_caps
from fanwise.core.counts import COUNTED, Counts
from fanwise.core.outcome import Outcome, Usage
from fanwise.core.run_id import check_run_id
from fanwise.core.stats import Stats, StatsOfSeveral
from fanwise.crashpoint import crash_point
from fanwise.errors import RunExists, SpecChanged, UsageError
from fanwise.journal import port
from fanwise.journal.codec import JSON, Codec
from fanwise.kernel import events
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.outbox import Outbox
from fanwise.kernel.recorded_halts import HALT, HaltNote, recorded_halts
from fanwise.kernel.recorded_outcomes import usage_of
from fanwise.kernel.recorder import Recorder, unkept
from fanwise.kernel.scope import Places

if TYPE_CHECKING:
    from fanwise.kernel.engine import Engine

MEMORY = ":memory:"
"""As a journal: none. The run has subscribers, caps and a budget, and nothing on disk."""


def open_run(
    id: str | None = None,  # noqa: A002 - the word that people use
    *,
    journal: str | os.PathLike[str] | port.Journal | None = None,
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
) -> Run:
    """A run, to be used in `with` or `async with`.

    `id`: its name in the journal; default: a new one. `resume`: None goes on with the run if it
    exists and creates it if not, True demands that it exists, False that it does not.
    `retry_failed`: items that had failed run again too. `take_over`: also if its owner is on
    another host and so cannot be seen to be dead. `spec`: what is being run, as JSON-able
    data; its digest must be the same on resume, unless it `may_change`: then the run is about
    the new one, and items whose keys are the same are kept. `journal`: a path, a URL, a
    `Journal`, or ":memory:" for none; default: `.fanwise/journal.db` in the working directory,
    or what FANWISE_JOURNAL says.
    """
    if id is not None:
        check_run_id(id)
    if not isinstance(subscribers, Iterable):
        raise UsageError(f"subscribers is {subscribers!r}", "Give a list of functions")
    return Run(
        id or new_run_id(),
        journal=journal,
        resume=resume,
        retry_failed=retry_failed,
        take_over=take_over,
        may_change=may_change,
        kind=kind,
        name=name,
        spec=codec.encode(spec) if spec is not None else "null",
        codec=codec,
        caps=as_caps(caps),
        budget=as_budget(budget),
        subscribers=subscribers,
    )


def new_run_id() -> str:
    """Sortable by time, short enough to type."""
    return f"{time.strftime('%y%m%d-%H%M%S')}-{os.urandom(2).hex()}"


class Run:
    """Made by `open_run`."""

    def __init__(
        self,
        id: str,  # noqa: A002
        *,
        journal: str | os.PathLike[str] | port.Journal | None,
        resume: bool | None,
        retry_failed: bool,
        take_over: bool,
        may_change: bool,
        kind: str,
        name: str,
        spec: str,
        codec: Codec,
        caps: Caps | None,
        budget: Budget | None,
        subscribers: Iterable[events.Subscriber],
    ) -> None:
        self.id = id
        self.codec = codec
        self.caps = caps
        self.budget = budget
        self.subscribers = events.Subscribers(subscribers)
        self.record: port.RunRecord | None = None
        self.resumed = False
        self.halting: Literal["halted", "cancelled"] | None = None
        """Nothing more starts (halted), and what was in flight was ended (cancelled)."""
        self._ends_as: tuple[port.RunStatus, str | None] | None = None
        self._cut_short: str | None = None
        """What kept this run, or a fan-out of it, from doing all that it was asked."""
        self._given = journal
        self._resume = resume
        self.retries_failed = retry_failed
        """Items that had failed run again."""
        self._take_over = take_over
        self._may_change = may_change
        self._kind = kind
        self._name = name
        self._spec = spec
        self._journal: port.Journal | None = None
        self._engines: set[Engine[Any, Any]] = set()
        self._outbox: Outbox | None = None
        self.places = Places()
        self._known: dict[str, int] = {}
        self._stats = StatsOfSeveral()
        self._unwatch: Callable[[], None] | None = None
        self._epoch = time.time() - time.monotonic()
        """The time of day at which the monotonic clock was 0."""

    # -- with -----------------------------------------------------------------------------------

    def __enter__(self) -> Run:
        if self._given != MEMORY:
            self._open()
        return self._opened()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        status = self._final_status(error)
        self._close(status, error)
        self._emit(events.RunEnded, run_id=self.id, status=status)

    async def __aenter__(self) -> Run:
        if self._given != MEMORY:
            try:
                # In a thread: imports, migrations, and another process that has the file locked.
                await in_thread(self._open)
            except asyncio.CancelledError:
                self._close("cancelled", None)  # it is open by now, and nobody else closes it
                raise
        return self._opened()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        status = self._final_status(error)
        try:
            if self._journal is not None:
                await in_thread(self._close, status, error)
        finally:
            if self._journal is None:  # it is on disk, also if this was cancelled meanwhile
                self._emit(events.RunEnded, run_id=self.id, status=status)

    # -- orders from outside --------------------------------------------------------------------

    def halt(self, reason: str = "halted") -> None:
        """Start nothing more; what is in flight goes on. Call it on the event loop."""
        self.halting = self.halting or "halted"
        for engine in list(self._engines):
            engine.halt(reason)

    def cancel(self, reason: str = "cancelled") -> None:
        """End what is in flight too. Call it on the event loop."""
        self.halting = "cancelled"
        self.note("cancel", {"reason": reason})
        for engine in list(self._engines):
            engine.cancel(reason)

    def end_as(
        self, status: Literal["done", "paused", "halted", "failed"], error: str | None = None
    ) -> None:
        """What it will have come to when its block is left, if nothing interrupts it before."""
        self._ends_as = (status, error)

    def conclude(self, counts: Counts) -> None:
        """How far it came. A run that did less than it was asked ends as halted."""
        self.note(COUNTED, msgspec.to_builtins(counts))
        self._cut_short = counts.short or None
        if counts.enough:
            self.halting = None  # what halted it is what it was asked for

    @property
    def ending(self) -> tuple[port.RunStatus, str | None]:
        """What it comes to if its block is left now, and why."""
        if self.halting is not None:
            return self.halting, self._cut_short
        if self._ends_as is not None:
            return self._ends_as
        return "done" if self._cut_short is None else "halted", self._cut_short

    # -- for the kernel -------------------------------------------------------------------------

    @property
    def durable_id(self) -> str | None:
        """The id under which it is on disk; None: in memory."""
        return None if self._journal is None else self.id

    @property
    def stats(self) -> Stats:
        """Of the fan-outs of this run that have ended, in this process."""
        return self._stats.stats

    @property
    def is_open(self) -> bool:
        """Whether fan-outs can be made in it."""
        return self._given == MEMORY or self._journal is not None

    @property
    def journal(self) -> port.Journal | None:
        """Where it is recorded; None: in memory."""
        return self._journal

    @property
    def given_journal(self) -> str | os.PathLike[str] | None:
        """The path or URL that was given for it; None: the usual one, or no name at all."""
        return self._given if isinstance(self._given, str | os.PathLike) else None

    def recorder(
        self, path: str, cap: int, halt: str, codec: Codec, *, again: bool
    ) -> Recorder | None:
        """The journal's side of a fan-out; None in memory."""
        if self._journal is None or self.record is None:
            return None
        known = path in self._known
        if not known:
            self._known[path] = port.fan_out_id(self.record.number, len(self._known) + 1)
            self._journal.submit(
                port.FanOutRecord(self._known[path], self.id, path, cap, halt, self.wall())
            )
        again = again or self.retries_failed
        return Recorder(
            self._outbox_here(self._journal), self._journal, self.id, self._known[path], codec,
            self._epoch, known=known, again=again,
            halts=self._halts.setdefault(path, set()) if known and halt == "when" else set(),
        )  # fmt: skip

    @functools.cached_property
    def _halts(self) -> dict[str, set[str]]:
        return recorded_halts(self._journal.events(self.id)) if self._journal is not None else {}

    def halted(self, path: str, outcome: Outcome[Any] | None, reason: str) -> None:
        """A fan-out of this run starts nothing more: by this outcome, or by an order."""
        if outcome is None:
            self.note(HALT, HaltNote(path, reason=reason))
            return
        self.note(HALT, HaltNote(path, outcome.index, outcome.key, reason))
        if self._journal is not None and reason == "when":
            self._halts.setdefault(path, set()).add(outcome.key)

    def _outbox_here(self, journal: port.Journal) -> Outbox:
        """One for all its fan-outs on this event loop."""
        loop = asyncio.get_running_loop()
        if self._outbox is None or self._outbox.loop is not loop:
            self._outbox = Outbox(journal, loop)
        return self._outbox

    def count_earlier(self, budget: Budget, path: str) -> None:
        """A fan-out with a budget of its own begins: what it and all inside it spent before counts.

        Asked before it has its recorder: a path that is not known then has spent nothing.
        """
        if self._journal is not None:
            inside = {n for at, n in self._known.items() if f"{at}/".startswith(f"{path}/")}
            earlier = self._spent(self._journal, inside) if inside else ()
            budget.already_spent(f"{self.id}/{path}", earlier)

    def joined(self, engine: Engine[Any, Any]) -> None:
        """A fan-out of this run begins (not one inside an item: that is its item's business)."""
        self._engines.add(engine)
        if self._journal is not None and self._unwatch is None:
            self._watch(self._journal, asyncio.get_running_loop())

    def _watch(self, journal: port.Journal, loop: asyncio.AbstractEventLoop) -> None:
        def on_cancel() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has closed: all is over anyway
                loop.call_soon_threadsafe(self.cancel, "cancel requested")

        self._unwatch = journal.watch_cancel(self.id, on_cancel)

    def left(
        self, engine: Engine[Any, Any], stats: Stats, now: float, cut_short: str | None
    ) -> None:
        """It has ended; `cut_short`: it did less than all of its items, and why."""
        self._cut_short = self._cut_short or cut_short
        self._engines.discard(engine)
        self._stats.add(stats, now)
        if not self._engines and self._unwatch is not None:
            self._unwatch()
            self._unwatch = None

    def note(self, kind: str, data: Any) -> None:
        """Record an event that is worth knowing later.

        It is on disk before any item that starts after it, but perhaps not when this returns.
        """
        if self._journal is not None:
            text = msgspec.json.encode(data).decode()
            self._journal.submit(port.EventRecord(self.id, self.wall(), kind, text))

    async def note_on_disk(self, kind: str, data: Any) -> None:
        """Record an event, and return once it is on disk: before acting on what it says."""
        self.note(kind, data)
        if self._journal is not None:
            await self._outbox_here(self._journal).on_disk()

    def wall(self) -> float:
        """The time of day, steadily: a clock that is set back does not reorder the journal."""
        return self._epoch + time.monotonic()

    # -- inside ---------------------------------------------------------------------------------

    def _opened(self) -> Run:
        self._emit(events.RunStarted, run_id=self.id, resumed=self.resumed)
        return self

    def _open(self) -> None:
        from fanwise.journal.open import open_journal
        from fanwise.journal.owner import current_owner

        given = self._given
        own = given is None or isinstance(given, str | os.PathLike)
        journal = (
            open_journal(given) if given is None or isinstance(given, str | os.PathLike) else given
        )
        try:
            self.record = self._create_or_claim(journal, current_owner())
        except BaseException:
            if own:
                journal.close()
            raise
        self._journal = journal
        self._owns_journal = own
        self._known = {f.path: f.id for f in journal.fan_outs(self.id)}
        if self.budget is not None:
            self.budget.already_spent(self.id, self._spent(journal, self._known.values()))
        crash_point("run.created")

    def _create_or_claim(self, journal: port.Journal, owner: port.Owner) -> port.RunRecord:
        digest = hashlib.sha256(self._spec.encode()).hexdigest()
        if self._resume is not True:
            new = port.RunRecord(
                self.id, 0, self._kind, self._name, self._spec, digest, "running",
                self.wall(), owner=owner,
            )  # fmt: skip
            # Asked for at once, and not looked for first: another process may do the same.
            try:
                return journal.create_run(new)
            except RunExists:
                if self._resume is False:
                    raise
        existing = journal.run(self.id)
        changed = None
        if self._spec != "null" and existing.digest != digest:
            if not self._may_change or existing.kind != self._kind:
                raise SpecChanged(self.id)
            changed = port.Spec(self._spec, digest)
        self.resumed = True
        return journal.claim_run(self.id, owner, force=self._take_over, spec=changed)

    def _spent(self, journal: port.Journal, fan_outs: Collection[int]) -> Iterable[Usage]:
        for fan_out in fan_outs:
            for row in journal.attempts(fan_out):
                if (usage := usage_of(row)) is not None:
                    yield usage
        yield from unkept(journal.events(self.id), fan_outs)

    def _final_status(self, error: BaseException | None) -> port.RunStatus:
        if error is None or self.halting is not None:
            return self.ending[0]
        return "failed" if isinstance(error, Exception) else "cancelled"

    def _close(self, status: port.RunStatus, error: BaseException | None) -> None:
        if self._journal is not None:
            crash_point("run.before_end")
            text = self.ending[1] if error is None else f"{type(error).__name__}: {error}"
            self._journal.submit(port.RunEnded(self.id, status, self.wall(), text))
            if self._owns_journal:
                self._journal.close()
            self._journal = None

    def _emit(self, kind: Callable[..., events.Event], **fields: Any) -> None:
        if self.subscribers:
            self.subscribers.emit(kind(at=time.monotonic(), **fields))


RunLike = Run | str


def run_of(given: RunLike | None) -> AbstractAsyncContextManager[Run | None]:
    """What an argument `run` means: an open run, left open; or an id, opened for the block."""
    if isinstance(given, str):
        return open_run(given)
    if given is None:
        return nullcontext()
    if not isinstance(given, Run):
        raise UsageError(f"run is {given!r}", "Give an id, or what `open_run` returned")
    if not given.is_open:
        raise UsageError(f"the run {given.id!r} is not open", "Use it in `async with open_run(…)`")
    return nullcontext(given)
