"""The engine of a fan-out: it performs what the schedule decides.

    intake -> admit -> start -> attempts (one task per item) -> ended -> reported
                         |                                        |
                    start on disk                          outcome on disk

Everything except the attempts is a plain function on the event loop. So there is no await, and no
cancellation, between an item's end and its record. Order, halts and permits are decided in
`core/schedule`, not here.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from math import fsum
from typing import Any, Generic, TypeVar

from fanwise.core.caps import Needs
from fanwise.core.outcome import Attempt, Outcome, Status
from fanwise.core.retry import Retry
from fanwise.core.schedule import NOTHING, Decision, Schedule
from fanwise.crashpoint import crash_point
from fanwise.errors import (
    AttemptTimeout,
    BadPredicate,
    CommandFailed,
    FanwiseError,
    JournalDamaged,
    JournalNotWritable,
    OutputNotWritable,
    StepFailed,
)
from fanwise.kernel import events
from fanwise.kernel.attempts import AttemptLoop
from fanwise.kernel.cancellation import Cancellation
from fanwise.kernel.dispatch import Dispatcher
from fanwise.kernel.feed import Feed
from fanwise.kernel.intake import Intake
from fanwise.kernel.open_item import OpenItem
from fanwise.kernel.patient_future import PatientFuture
from fanwise.kernel.recorder import Recorder
from fanwise.kernel.scope import FanOutScope
from fanwise.kernel.tasks import new_task
from fanwise.kernel.work import Attempter

I = TypeVar("I")  # noqa: E741
T = TypeVar("T")

_NOT_KEPT = (JournalNotWritable, JournalDamaged, OutputNotWritable)
"""About the journal itself; others, such as `RunIsLive`, may be about a run that the item opens."""


class Engine(Generic[I, T]):
    """Runs one fan-out to its end. `deliver` is called with every outcome."""

    def __init__(
        self,
        *,
        scope: FanOutScope,
        schedule: Schedule[OpenItem[I, T]],
        dispatcher: Dispatcher,
        attempt: Attempter,
        source: Iterator[I] | AsyncIterator[I] | Feed[I],
        ahead: bool,
        needs: Callable[[I], Needs] | None,
        key: Callable[[I], str] | None,
        retry: Retry,
        recorder: Recorder | None,
        deliver: Callable[[Outcome[T]], None],
        reuse: Callable[[I, Outcome[T]], bool] | None = None,
    ) -> None:
        self.scope = scope
        self.schedule = schedule
        self.dispatcher = dispatcher
        self.recorder = recorder
        self.intake = Intake(
            source, schedule, self, ahead=ahead, needs=needs, key=key, held=scope.held
        )
        self.fatal: BaseException | None = None
        """The exception to raise once everything is cancelled."""
        self.halt_reason: str | None = None
        self.ordered = False
        """Whether it was told to halt from outside."""
        self._loop = scope.loop
        self._attempts = AttemptLoop(self, scope, attempt, retry)
        self._deliver = deliver
        self._reuse = reuse
        self._events = scope.subscribers
        self._spared = schedule.halt.spared
        self._context = contextvars.copy_context()
        self._cancelling = Cancellation(scope.loop, schedule.open, self._never_ran)
        self._over = _End(self)

    # -- the whole ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run all items. When this returns or raises, nothing is in flight any more."""
        await self._load()
        if self.fatal is None:
            self._decided_before()
            self.intake.begin()
        await self.finished()
        if self.fatal is not None:
            if (beside := self.intake.close_error) not in (None, self.fatal):
                self.fatal.add_note(f"the items raised {beside!r} when they were closed")
            raise self.fatal
        by_predicate = self.schedule.halt.kind == "when" and self.schedule.halted_by is not None
        if by_predicate and self.recorder is not None:
            await self.recorder.on_disk()  # on a resume the predicate may answer differently

    async def _load(self) -> None:
        """Read what earlier executions recorded. It may be cut short like all that follows."""
        past = self.recorder.past if self.recorder is not None else None
        if past is not None:
            try:
                await self.scope.threads.run(past.load)
            except BaseException as error:
                self.abort(error)

    def _decided_before(self) -> None:
        """Do not repeat a race that was won in an earlier execution."""
        past = self.recorder.past if self.recorder is not None else None
        if past is not None and self.schedule.halt.kind == "fastest":
            for outcome in past.won_race():
                self._told(outcome)

    async def finished(self) -> None:
        """Wait for the end. Cancelling this cancels the fan-out, and still waits for its end."""
        try:
            await self._over
        except asyncio.CancelledError as error:  # it came after everything had ended
            self.abort(error)

    def order(self, order: Callable[[str], None], reason: str) -> None:
        """Carry out an order on the event loop, from whichever thread it comes."""
        if asyncio._get_running_loop() is self._loop:
            order(reason)
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed: everything has ended
            self._loop.call_soon_threadsafe(order, reason)

    def halt(self, reason: str) -> None:
        """Start nothing more; items in flight finish."""
        if not self.schedule.halted:
            self.halt_reason = reason
        self._halted(None, reason)
        self._apply(self.schedule.halt_now())
        self.ordered = True
        self._end([entry for entry in self.schedule.open.values() if entry.idle])
        self.check_over()

    def parked(self, entry: OpenItem[I, T]) -> None:
        """A call of the item waits. After a halt it may not start, so an idle item ends here."""
        if self.ordered and entry.idle:
            self._end([entry])

    def cancel(self, reason: str) -> None:
        """Cancel what is in flight too, without an exception."""
        self.halt_reason = reason
        self._apply(self.schedule.cancel())
        self.check_over()

    def abort(self, error: BaseException) -> None:
        """Cancel everything, then raise this. The first error counts, but Ctrl-C overrides it."""
        if self.fatal is None or not isinstance(error, Exception | asyncio.CancelledError):
            self.fatal = error
        self._apply(self.schedule.cancel())
        self.check_over()

    # -- items in -------------------------------------------------------------------------------

    def admit(self, item: I, index: int, key: str | None, needs: dict[str, int] | None) -> bool:
        """Take an item. True: its outcome was recorded. False: it starts or waits for permits."""
        now = self.scope.time()
        entry = OpenItem(self, index, item, key, now)
        if self.recorder is not None and self.recorder.past is not None:
            outcome, entry.twice = self.recorder.past.outcome(index, entry.key)
            if outcome is not None:
                if self._counts(item, outcome):
                    self._told(outcome)
                    return True
                entry.outdated = True
            self.recorder.runs_again(self.scope.path, entry.key)
        if self.schedule.add(entry, needs, now):
            self.start(entry)
        elif self.schedule.ledger.restless:
            self.dispatcher.pump()  # it may be waiting for a rate only
        return False

    def _counts(self, item: I, recorded: Outcome[T]) -> bool:
        """Whether a recorded outcome is still valid for this item."""
        if self._reuse is None:
            return True
        try:
            answer = self._reuse(item, recorded)
        except Exception as error:
            raise BadPredicate("reuse", recorded.index, "raised") from error
        if not isinstance(answer, bool):
            problem = f"gave {type(answer).__name__}, not a bool,"
            raise BadPredicate("reuse", recorded.index, problem)
        return answer

    # -- one item -------------------------------------------------------------------------------

    def start(self, entry: OpenItem[I, T]) -> None:
        """The permits are taken: record the start, then begin."""
        if self.recorder is not None:
            self.recorder.started(entry)
        else:
            self._begin(entry)

    def start_recorded(self, entry: OpenItem[I, T], error: BaseException | None) -> None:
        """The start is on disk: begin."""
        crash_point("item.started")
        if error is not None:
            self.lose(entry.index, error)
        elif entry.cancel_asked:
            self._never_ran(entry)
        else:
            self._begin(entry)

    def _begin(self, entry: OpenItem[I, T]) -> None:
        if self._events:
            needs = tuple(entry.caps)
            self.emit(events.ItemStarted, index=entry.index, key=entry.key, needs=needs)
        # With a copy of the caller's context: an item that is started at the end of another must
        # not inherit that one's variables.
        entry.task = new_task(self._attempts.make(entry), self._loop, self._context.copy())

    def worked_at_once(
        self, entry: OpenItem[I, T], value: T | None, queued_s: float, ran_s: float
    ) -> None:
        """The first attempt succeeded: the path of most items, with as few steps as possible."""
        crash_point("item.worked")
        kept = (Attempt(queued_s, ran_s), *entry.calls) if entry.calls else None
        outcome = Outcome(
            entry.index, "done", value, None, kept, entry.given_key, False, entry.twice,
            queued_s, ran_s,
        )  # fmt: skip
        self._ended(entry, outcome, ran_s)

    def concluded(
        self, entry: OpenItem[I, T], value: T | None, error: BaseException | None, ran_s: float
    ) -> None:
        """Turn the result of the attempts into a status. Only what we cancelled is `cancelled`."""
        crash_point("item.worked")
        if error is None:
            self._worked(entry, "done", value, None, ran_s)
            return
        if isinstance(error, _NOT_KEPT) and self.recorder is not None:
            # The journal failed, not the item.
            self.lose(entry.index, error)
            return
        if entry.cancel_asked:
            # Report what it raised while it was being cancelled.
            beside = error.__cause__ if isinstance(error, asyncio.CancelledError) else error
            self._worked(entry, "cancelled", None, beside, ran_s)
        elif isinstance(error, CommandFailed | AttemptTimeout | StepFailed):
            # What it printed before it failed matters as much as its exit code.
            self._worked(entry, "failed", error.result, error, ran_s)
        else:
            self._worked(entry, "failed", None, error, ran_s)
        if isinstance(error, KeyboardInterrupt | SystemExit):
            self.abort(error)

    def _never_ran(self, entry: OpenItem[I, T]) -> None:
        """The item was cancelled before its work began."""
        self._worked(entry, "cancelled", None, None, 0.0)

    def _worked(
        self,
        entry: OpenItem[I, T],
        status: Status,
        value: T | None,
        error: BaseException | None,
        ran_s: float,
    ) -> None:
        own = entry.attempts
        outcome = Outcome(
            entry.index, status, value, error, own + entry.calls, entry.given_key, False,
            entry.twice, fsum(a.queued_s for a in own), fsum(a.ran_s for a in own),
            fsum(a.backoff_s for a in own),
        )  # fmt: skip
        self._ended(entry, outcome, ran_s)

    def _ended(self, entry: OpenItem[I, T], outcome: Outcome[T], ran_s: float) -> None:
        """The work is over: return the permits, record the outcome, then report it."""
        entry.task = None  # its context refers to this item
        if self.recorder is None:
            self.schedule.worked(entry, ran_s)
            self._told(outcome, entry)
        else:
            # An outcome that may halt keeps its permits until it is on disk. Otherwise an item
            # could start that the halt forbids. In all other cases the start of the next item is
            # written together with this end.
            entry.outcome = outcome = self.recorder.ended(entry, outcome)
            if outcome.status in self._spared:
                self.schedule.worked(entry, ran_s)
        self.go_on()

    def end_recorded(
        self, entry: OpenItem[I, T], outcome: Outcome[T], error: BaseException | None
    ) -> None:
        """The outcome is on disk: report it."""
        crash_point("item.recorded")
        if error is not None:
            self.lose(entry.index, error)
            return
        if outcome.status in self._spared:
            self._told(outcome, entry)
            return
        self.schedule.worked(entry, entry.attempts[-1].ran_s if entry.attempts else outcome.ran_s)
        self._told(outcome, entry)
        self.go_on()

    def go_on(self) -> None:
        """Permits came back: start items that can use them."""
        if self.schedule.ledger.restless:
            self.dispatcher.pump()
        if not self.schedule.exhausted:
            self.intake.pump()

    def _told(self, outcome: Outcome[T], entry: OpenItem[I, T] | None = None) -> None:
        """The outcome is final: deliver it, and see what it halts."""
        if entry is not None:
            # An error refers to this item through its traceback.
            entry.attempts = entry.calls = ()
            entry.outcome = None
        try:
            decision = self.schedule.ended(outcome)
        except FanwiseError as error:
            self._deliver(outcome)
            self.abort(error)
            return
        self._deliver(outcome)
        if self._events:
            self.emit(events.ItemEnded, outcome=outcome)
        if decision is not NOTHING:
            self._halted(outcome, self.schedule.halt.kind)
            self._apply(decision)
        if not self.schedule.open:
            self.check_over()

    def lose(self, index: int, error: BaseException) -> None:
        """The journal failed, so the outcome of this item must not be reported."""
        self.schedule.forget(index)
        self.abort(error)

    def record_call(self, entry: OpenItem[I, T], attempt: Attempt) -> None:
        """Record an attempt of a call inside the item."""
        if self.recorder is not None:
            self.recorder.attempted(entry.key, attempt)

    # -- the end --------------------------------------------------------------------------------

    def _apply(self, decision: Decision[OpenItem[I, T]]) -> None:
        for entry in decision.skip:
            self._deliver(
                Outcome(
                    entry.index,
                    "skipped",
                    given_key=entry.given_key,
                    may_have_run_twice=entry.twice,
                )
            )
        self._end(decision.cancel)
        if self.schedule.halted:
            self.intake.stop()

    def _end(self, entries: Iterable[OpenItem[I, T]]) -> None:
        cancelled = self._cancelling.end(entries)
        if cancelled and self._events:
            self.emit(events.Cancelled, indices=cancelled)

    def check_over(self) -> None:
        if self.schedule.over and self.intake.closed() and not self._over.done():
            self._cancelling.over()
            self._over.come()

    # -- telling --------------------------------------------------------------------------------

    def _halted(self, outcome: Outcome[T] | None, reason: str) -> None:
        if self.scope.run is not None:
            self.scope.run.halted(self.scope.path, outcome, reason)
        if self._events:
            index = None if outcome is None else outcome.index
            self.emit(events.Halted, index=index, reason=reason)

    def emit(self, kind: Callable[..., events.Event], **fields: Any) -> None:
        self._events.emit(kind(at=self._loop.time(), path=self.scope.path, **fields))


class _End(PatientFuture[None]):
    """The end of a fan-out. If a task is cancelled while it waits here, so is the fan-out."""

    def __init__(self, engine: Engine[Any, Any]) -> None:
        super().__init__(loop=engine.scope.loop)
        self._engine: Engine[Any, Any] | None = engine

    def interrupted(self, error: asyncio.CancelledError) -> None:
        """Cancel everything, then raise this."""
        if self._engine is not None:
            self._engine.abort(error)

    def come(self) -> None:
        """Everything has ended. The loop may hold this future for a while, so drop the engine."""
        self._engine = None
        self.set_result(None)
