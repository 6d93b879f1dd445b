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
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
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
from fanwise.kernel.fan_out_end import FanOutEnd
from fanwise.kernel.feed import Feed
from fanwise.kernel.intake import Intake
from fanwise.kernel.open_item import OpenItem
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
        starts_with_call: Callable[[I], bool] | None = None,
        before: Callable[[], Awaitable[None]] | None = None,
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
        self._starts_with_call = starts_with_call
        self._before = before
        self._events = scope.subscribers
        self._never_halting = schedule.halt.never_halting
        self._context = contextvars.copy_context()
        self._cancellation = Cancellation(scope.loop, schedule.open, self._never_ran)
        self._over = FanOutEnd(self.abort, scope.loop)

    # -- the whole ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run all items. When this returns or raises, nothing is in flight any more."""
        await self._load()
        if self.fatal is None:
            self._report_won_race()
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
        try:
            if past is not None:
                await self.scope.threads.run(past.load)
            if self._before is not None:
                await self._before()
        except BaseException as error:
            self.abort(error)

    def _report_won_race(self) -> None:
        """Do not repeat a race that was won in an earlier execution."""
        past = self.recorder.past if self.recorder is not None else None
        if past is not None and self.schedule.halt.kind == "fastest":
            for outcome in past.won_race():
                self._report(outcome)

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
        self._end([open_item for open_item in self.schedule.open.values() if open_item.idle])
        self.check_over()

    def change_cap(self, cap: int) -> None:
        """From now on at most this many items at once."""
        self.schedule.change_cap(cap)
        self.scope.report_moves()
        self.go_on()

    def parked(self, open_item: OpenItem[I, T]) -> None:
        """A call of the item waits. After a halt it may not start, so an idle item ends here."""
        if self.ordered and open_item.idle:
            self._end([open_item])

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
        open_item = OpenItem(self, index, item, key, now)
        if self.recorder is not None and self.recorder.past is not None:
            outcome, open_item.twice = self.recorder.past.outcome(index, open_item.key)
            if outcome is not None:
                if self._counts(item, outcome):
                    self._report(outcome)
                    return True
                open_item.outdated = True
            self.recorder.runs_again(self.scope.path, open_item.key)
        if self.schedule.add(open_item, needs, now):
            self.start(open_item)
        elif self.schedule.ledger.may_grant:
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

    def start(self, open_item: OpenItem[I, T]) -> None:
        """The permits are taken: record the start, then begin."""
        if self.recorder is None:
            self._begin(open_item)
        elif self._starts_with_call is not None and self._starts_with_call(open_item.item):
            open_item.start = "due"
            self._begin(open_item)
        else:
            self.recorder.started(open_item)

    def start_recorded(self, open_item: OpenItem[I, T], error: BaseException | None) -> None:
        """The start is on disk: begin."""
        crash_point("item.started")
        if error is not None:
            self.drop(open_item.index, error)
        elif open_item.cancel_asked:
            self._never_ran(open_item)
        else:
            self._begin(open_item)

    def _begin(self, open_item: OpenItem[I, T]) -> None:
        if self._events:
            needs = tuple(open_item.caps)
            self.emit(events.ItemStarted, index=open_item.index, key=open_item.key, needs=needs)
        # With a copy of the caller's context: an item that is started at the end of another must
        # not inherit that one's variables.
        open_item.task = new_task(self._attempts.make(open_item), self._loop, self._context.copy())

    def finish_first_attempt(
        self, open_item: OpenItem[I, T], value: T | None, queued_s: float, ran_s: float
    ) -> None:
        """The first attempt succeeded: the path of most items, with as few steps as possible."""
        crash_point("item.worked")
        kept = (Attempt(queued_s, ran_s), *open_item.calls) if open_item.calls else None
        outcome = Outcome(
            open_item.index, "done", value, None, kept, open_item.given_key, False, open_item.twice,
            queued_s, ran_s,
        )  # fmt: skip
        self._record_and_report(open_item, outcome, ran_s)

    def finish(
        self, open_item: OpenItem[I, T], value: T | None, error: BaseException | None, ran_s: float
    ) -> None:
        """Turn the result of the attempts into a status. Only what we cancelled is `cancelled`."""
        crash_point("item.worked")
        if error is None:
            self._end_as(open_item, "done", value, None, ran_s)
            return
        if isinstance(error, _NOT_KEPT) and self.recorder is not None:
            # The journal failed, not the item.
            self.drop(open_item.index, error)
            return
        if open_item.cancel_asked:
            # Report what it raised while it was being cancelled.
            beside = error.__cause__ if isinstance(error, asyncio.CancelledError) else error
            self._end_as(open_item, "cancelled", None, beside, ran_s)
        elif isinstance(error, CommandFailed | AttemptTimeout | StepFailed):
            # What it printed before it failed matters as much as its exit code.
            self._end_as(open_item, "failed", error.result, error, ran_s)
        else:
            self._end_as(open_item, "failed", None, error, ran_s)
        if isinstance(error, KeyboardInterrupt | SystemExit):
            self.abort(error)

    def _never_ran(self, open_item: OpenItem[I, T]) -> None:
        """The item was cancelled before its work began."""
        self._end_as(open_item, "cancelled", None, None, 0.0)

    def _end_as(
        self,
        open_item: OpenItem[I, T],
        status: Status,
        value: T | None,
        error: BaseException | None,
        ran_s: float,
    ) -> None:
        own = open_item.attempts
        outcome = Outcome(
            open_item.index, status, value, error, own + open_item.calls, open_item.given_key,
            False, open_item.twice, fsum(a.queued_s for a in own), fsum(a.ran_s for a in own),
            fsum(a.backoff_s for a in own),
        )  # fmt: skip
        self._record_and_report(open_item, outcome, ran_s)

    def _record_and_report(
        self, open_item: OpenItem[I, T], outcome: Outcome[T], ran_s: float
    ) -> None:
        """The work is over: return the permits, record the outcome, then report it."""
        open_item.task = None  # its context refers to this item
        if self.recorder is None:
            self.schedule.worked(open_item, ran_s)
            self._report(outcome, open_item)
        else:
            # An outcome that may halt keeps its permits until it is on disk. Otherwise an item
            # could start that the halt forbids. In all other cases the start of the next item is
            # written together with this end.
            open_item.outcome = outcome = self.recorder.ended(open_item, outcome)
            if outcome.status in self._never_halting:
                self.schedule.worked(open_item, ran_s)
        self.go_on()

    def end_recorded(
        self, open_item: OpenItem[I, T], outcome: Outcome[T], error: BaseException | None
    ) -> None:
        """The outcome is on disk: report it."""
        crash_point("item.recorded")
        if error is not None:
            self.drop(open_item.index, error)
            return
        if outcome.status in self._never_halting:
            self._report(outcome, open_item)
            return
        attempts = open_item.attempts
        self.schedule.worked(open_item, attempts[-1].ran_s if attempts else outcome.ran_s)
        self._report(outcome, open_item)
        self.go_on()

    def go_on(self) -> None:
        """Permits came back: start items that can use them."""
        if self.schedule.ledger.may_grant:
            self.dispatcher.pump()
        if not self.schedule.exhausted:
            self.intake.pump()

    def _report(self, outcome: Outcome[T], open_item: OpenItem[I, T] | None = None) -> None:
        """The outcome is final: deliver it, and see what it halts."""
        if open_item is not None:
            # An error refers to this item through its traceback.
            open_item.attempts = open_item.calls = ()
            open_item.outcome = None
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

    def drop(self, index: int, error: BaseException) -> None:
        """The journal failed, so the outcome of this item must not be reported."""
        self.schedule.forget(index)
        self.abort(error)

    # -- the end --------------------------------------------------------------------------------

    def _apply(self, decision: Decision[OpenItem[I, T]]) -> None:
        for skip in decision.skip:
            key, twice = skip.given_key, skip.twice
            skipped = Outcome[T](skip.index, "skipped", given_key=key, may_have_run_twice=twice)
            self._deliver(skipped)
        self._end(decision.cancel)
        if self.schedule.halted:
            self.intake.stop()

    def _end(self, open_items: Iterable[OpenItem[I, T]]) -> None:
        cancelled = self._cancellation.end(open_items)
        if cancelled and self._events:
            self.emit(events.Cancelled, indices=cancelled)

    def check_over(self) -> None:
        if self.schedule.over and self.intake.closed() and not self._over.done():
            self._cancellation.over()
            self._over.come()

    # -- events ---------------------------------------------------------------------------------

    def _halted(self, outcome: Outcome[T] | None, reason: str) -> None:
        if self.scope.run is not None:
            self.scope.run.halted(self.scope.path, outcome, reason)
        if self._events:
            index = None if outcome is None else outcome.index
            self.emit(events.Halted, index=index, reason=reason)

    def emit(self, kind: Callable[..., events.Event], **fields: Any) -> None:
        self._events.emit(kind(at=self._loop.time(), path=self.scope.path, **fields))
