"""Records a fan-out: each start before the work begins, each outcome before it is reported."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec

from fanwise.core.budget import KINDS
from fanwise.core.outcome import Attempt, Outcome, Usage
from fanwise.crashpoint import crash_point
from fanwise.errors import NotStorable
from fanwise.journal import port
from fanwise.journal.codec import Codec, encode_error
from fanwise.kernel.outbox import Outbox
from fanwise.kernel.recorded_halts import WITHDRAWN, HaltNote
from fanwise.kernel.recorded_outcomes import RecordedOutcomes

if TYPE_CHECKING:
    from fanwise.kernel.open_item import OpenItem


def new_reservation_id() -> str:
    """An id for a reservation of budget, unique over all executions of a run."""
    return token_hex(8)


class _ReservationRef(msgspec.Struct, frozen=True):
    """Which reservation an event refers to."""

    id: str
    fan_out: int | None = None


def unsettled(events: Iterable[port.EventRecord], fan_outs: Collection[int]) -> Iterator[Usage]:
    """Reservations that were never settled because the process died: they may have been spent.

    Those of these fan-outs, and older ones that do not say which fan-out they belong to.
    """
    open_: dict[str, Usage] = {}
    for event in events:
        if event.kind == "reserve":
            found = event.decode(_ReservationRef)
            if found.fan_out is None or found.fan_out in fan_outs:
                open_[found.id] = event.decode(Usage)
        elif event.kind == "settle":
            open_.pop(event.decode(_ReservationRef).id, None)
    yield from open_.values()


class Recorder:
    """Records one fan-out, and knows what earlier executions recorded of it (`past`)."""

    def __init__(
        self,
        outbox: Outbox,
        journal: port.Journal,
        run_id: str,
        fan_out: int,
        codec: Codec,
        epoch: float,
        *,
        known: bool,
        again: bool,
        halts: set[str],
    ) -> None:
        self._outbox = outbox
        self._run_id = run_id
        self._fan_out = fan_out
        self._codec = codec
        self._epoch = epoch
        self.past = (
            RecordedOutcomes(journal, run_id, fan_out, codec, again=again) if known else None
        )
        """What earlier executions recorded; None: nothing."""
        self.hide: Callable[[str], str] = str
        """Removes secrets from the errors that it records."""
        self.halts = halts
        """The keys of recorded outcomes at which a predicate halted."""

    def started(self, open_item: OpenItem[Any, Any]) -> None:
        """Record a start; the item begins when it is on disk."""
        crash_point("item.before_start")
        row = (self._fan_out, open_item.key, open_item.index, self._epoch + monotonic())
        self._outbox.add_start(row, open_item)

    def started_again(self, open_item: OpenItem[Any, Any]) -> None:
        """Its worker is gone and another one gets it, so it may have run twice."""
        at = self._epoch + monotonic()
        self._outbox.add(port.ItemStartWrite(self._fan_out, open_item.key, open_item.index, at))

    def runs_again(self, path: str, key: str) -> None:
        """Call before the start of an item that was recorded: that it halted is no longer valid."""
        if key in self.halts:
            self.halts.discard(key)
            self._outbox.add(self._event(WITHDRAWN, HaltNote(path, key=key)))

    def ended(self, open_item: OpenItem[Any, Any], outcome: Outcome[Any]) -> Outcome[Any]:
        """Record an outcome, to be reported when it is on disk. Returns what could be stored."""
        key = open_item.key
        value: str | None = None
        if outcome.value is not None or outcome.status == "done":
            try:
                value = self._codec.encode(outcome.value)
            except NotStorable as problem:
                outcome = _without_value(outcome, problem)
        if outcome.kept_attempts:
            self._attempts(key, outcome.kept_attempts)
        error = None if outcome.error is None else self.hide(encode_error(outcome.error))
        at = self._epoch + monotonic()
        row = (
            self._fan_out, key, outcome.index, outcome.status, at,
            outcome.queued_s, outcome.ran_s, outcome.backoff_s, value, error,
        )  # fmt: skip
        self._outbox.add_end(row, open_item)
        return outcome

    def _attempts(self, key: str, attempts: tuple[Attempt, ...]) -> None:
        own = [attempt for attempt in attempts if attempt.call is None]
        # The seconds of a single one are in the item's own row, but not who made it.
        if len(own) > 1 or (own and own[0].worker is not None):
            for attempt in own:
                self.attempted(key, attempt)

    def attempted(self, key: str, attempt: Attempt) -> None:
        """Record an attempt: of an item with several, or of a call inside it."""
        error = None if attempt.error is None else self.hide(encode_error(attempt.error))
        # The fields have the names of the columns.
        spent = {} if attempt.usage is None else msgspec.structs.asdict(attempt.usage)
        write = port.AttemptWrite(
            self._fan_out,
            key,
            attempt.call,
            attempt.queued_s,
            attempt.ran_s,
            attempt.backoff_s,
            error,
            **spent,
            first_token_s=attempt.first_token_s,
            # Calls are recorded as they end, but an item's own attempts only with its outcome.
            started_at=None if attempt.call is None else self._epoch + monotonic() - attempt.ran_s,
            caps=",".join(attempt.caps) or None,
            lag_s=attempt.lag_s or None,
            in_flight=attempt.in_flight or None,
            worker=attempt.worker,
        )
        self._outbox.add(write)

    async def before_call(
        self, open_item: OpenItem[Any, Any], reservation_id: str, amount: Usage | None
    ) -> None:
        """Record an item that starts with its first call, and the most that an attempt may spend.

        Returns when both are on disk.
        """
        if open_item.start == "due":
            crash_point("item.before_start")
            open_item.start = "being written"
            at = self._epoch + monotonic()
            self._outbox.add(port.ItemStartWrite(self._fan_out, open_item.key, open_item.index, at))
        if amount is not None:
            data = {"id": reservation_id, "fan_out": self._fan_out}
            data |= {kind: getattr(amount, kind) for kind in KINDS}
            self._outbox.add(self._event("reserve", data))
        elif open_item.start == "on disk":
            return
        await self._outbox.on_disk()
        if open_item.start == "being written":
            crash_point("item.started")
            open_item.start = "on disk"

    async def on_disk(self) -> None:
        """Wait until everything recorded so far is on disk."""
        await self._outbox.on_disk()

    def settle(self, reservation_id: str) -> None:
        """Record that a reservation is settled. What was spent is in the attempts."""
        self._outbox.add(self._event("settle", {"id": reservation_id}))

    def _event(self, kind: str, data: Any) -> port.EventRecord:
        text = msgspec.json.encode(data).decode()
        return port.EventRecord(self._run_id, self._epoch + monotonic(), kind, text)

    def closed(self, status: str, stats: str) -> None:
        self._outbox.add(
            port.FanOutEndWrite(self._fan_out, status, self._epoch + monotonic(), stats)
        )
        self._outbox.flush()  # the run may end before the next turn


def _without_value(outcome: Outcome[Any], problem: NotStorable) -> Outcome[Any]:
    """An item whose value cannot be stored has failed, with that error."""
    if outcome.error is not None:  # keep the error; what it printed is less important
        return msgspec.structs.replace(outcome, value=None)
    problem.add_note(f"the value of item {outcome.index} (key {outcome.key!r})")
    return msgspec.structs.replace(outcome, status="failed", value=None, error=problem)
