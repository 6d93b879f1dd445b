"""A fan-out's side of the journal: start before work, outcome before report.

The journal's writer answers from its own thread, batch by batch; the answers are taken to the
event loop together, one wake-up for a batch and not one for a row.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from fanwise.core.budget import KINDS
from fanwise.core.outcome import Attempt, Outcome, Usage
from fanwise.crashpoint import crash_point
from fanwise.errors import NotStorable
from fanwise.journal import port
from fanwise.journal.codec import Codec, encode_error
from fanwise.kernel.recorded_halts import WITHDRAWN, HaltNote
from fanwise.kernel.recorded_outcomes import Past
from fanwise.kernel.virtual import VirtualLoop, outside

if TYPE_CHECKING:
    from fanwise.kernel.entry import Entry

S = TypeVar("S")
Answer = Callable[[S, BaseException | None], None]
"""Told of what the write was about, and of the error if there was one."""


class Expected(Generic[S]):
    """A write under way, and who is told of it. The journal calls it, from its own thread.

    One object where a closure, its cells and a tuple would be four: a thousand writes under way
    are what the garbage collector walks through most often.
    """

    __slots__ = ("answer", "error", "landing", "subject")

    def __init__(self, landing: Landing, answer: Answer[S], subject: S) -> None:
        self.landing = landing
        self.answer = answer
        self.subject = subject
        self.error: BaseException | None = None

    def __call__(self, error: BaseException | None) -> None:
        """What became of the write."""
        self.error = error
        self.landing.land(self)


class Landing:
    """Brings the journal's answers to the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._virtual = isinstance(loop, VirtualLoop)
        self._landed: deque[Expected[Any]] = deque()
        self._called = False

    def expect(self, answer: Answer[S], subject: S) -> Expected[S]:
        """A callback for the journal that calls `answer(subject, error)` on the event loop."""
        if self._virtual:
            outside(self._loop, +1)
        return Expected(self, answer, subject)

    def land(self, expected: Expected[Any]) -> None:
        """It is on disk, or failed to get there. From any thread."""
        self._landed.append(expected)
        if not self._called:
            self._called = True
            self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        # Before looking, so that what lands from now on calls again.
        self._called = False
        while self._landed:
            expected = self._landed.popleft()
            if self._virtual:
                outside(self._loop, -1)
            expected.answer(expected.subject, expected.error)


def new_promise() -> str:
    """A name for a reservation, unique over all executions of a run."""
    return token_hex(8)


def _resolve(landed: asyncio.Future[None], error: BaseException | None) -> None:
    if landed.done():
        return
    if error is None:
        landed.set_result(None)
    else:
        landed.set_exception(error)


def unkept(events: Iterable[port.EventRecord], fan_outs: Collection[int]) -> Iterator[Usage]:
    """Reservations that were never settled: the process died, and they may have been spent.

    Those of these fan-outs, and those that do not say whose they are: older ones.
    """
    open_: dict[str, Usage] = {}
    for event in events:
        if event.kind == "reserve":
            data = msgspec.json.decode(event.data)
            if data.get("fan_out") is None or data["fan_out"] in fan_outs:
                open_[data["id"]] = msgspec.convert(data, Usage)
        elif event.kind == "settle":
            open_.pop(msgspec.json.decode(event.data)["id"], None)
    yield from open_.values()


class Recorder:
    """Writes one fan-out, and knows what earlier executions wrote of it (`past`)."""

    def __init__(
        self,
        journal: port.Journal,
        run_id: str,
        fan_out: int,
        codec: Codec,
        wall: Callable[[], float],
        *,
        known: bool,
        again: bool,
        halts: set[str],
    ) -> None:
        self._journal = journal
        self._run_id = run_id
        self._fan_out = fan_out
        self._codec = codec
        self._wall = wall
        self._landing = Landing(asyncio.get_running_loop())
        self.past = Past(journal, fan_out, codec, again=again) if known else None
        """What earlier executions recorded; None: nothing."""
        self.halts = halts
        """The keys of recorded outcomes at which a predicate halted."""

    def started(self, entry: Entry[Any, Any], then: Answer[Entry[Any, Any]]) -> None:
        """On disk before it happens."""
        crash_point("item.before_start")
        write = port.ItemStarted(self._fan_out, entry.key, entry.index, self._wall())
        self._journal.submit(write, self._landing.expect(then, entry))

    def runs_again(self, path: str, key: str) -> None:
        """What is recorded of the item does not count, nor that it halted. Before its start."""
        if key in self.halts:
            self.halts.discard(key)
            self._journal.submit(self._event(WITHDRAWN, HaltNote(path, key=key)))

    def storable(self, outcome: Outcome[Any]) -> tuple[Outcome[Any], str | None]:
        """The value as JSON. One that JSON cannot hold makes the item a failure, said so."""
        if outcome.value is None and outcome.status != "done":
            return outcome, None
        try:
            return outcome, self._codec.encode(outcome.value)
        except NotStorable as error:
            if outcome.error is not None:  # what it printed is a courtesy; why it failed is not
                return msgspec.structs.replace(outcome, value=None), None
            error.add_note(f"the value of item {outcome.index} (key {outcome.key!r})")
            failed: Outcome[Any] = Outcome(
                outcome.index, "failed", None, error, outcome.attempts, outcome.given_key,
                may_have_run_twice=outcome.may_have_run_twice,
            )  # fmt: skip
            return failed, None

    def ended(
        self,
        outcome: Outcome[Any],
        value: str | None,
        then: Answer[Entry[Any, Any]],
        entry: Entry[Any, Any],
    ) -> None:
        """On disk before anyone is told."""
        key = outcome.key
        if len(outcome.attempts) > 1:
            self._attempts(key, outcome.attempts)
        write = port.ItemEnded(
            self._fan_out,
            key,
            outcome.index,
            outcome.status,
            self._wall(),
            *outcome.times,
            value,
            None if outcome.error is None else encode_error(outcome.error),
        )
        self._journal.submit(write, self._landing.expect(then, entry))

    def _attempts(self, key: str, attempts: tuple[Attempt, ...]) -> None:
        own = [attempt for attempt in attempts if attempt.call is None]
        if len(own) > 1:  # a single one has its times in the item's own row
            for attempt in own:
                self.attempted(key, attempt)

    def attempted(self, key: str, attempt: Attempt) -> None:
        """An attempt of an item with several, or of a call inside it."""
        error = None if attempt.error is None else encode_error(attempt.error)
        # Its fields have the names of the columns.
        spent = {} if attempt.usage is None else msgspec.structs.asdict(attempt.usage)
        write = port.AttemptEnded(
            self._fan_out,
            key,
            attempt.call,
            attempt.queued_s,
            attempt.ran_s,
            attempt.backoff_s,
            error,
            **spent,
            first_token_s=attempt.first_token_s,
            # A call is recorded when it ends; what an item tried before, only with its outcome.
            started_at=None if attempt.call is None else self._wall() - attempt.ran_s,
            caps=",".join(attempt.caps) or None,
        )
        self._journal.submit(write)

    async def promise(self, promise: str, amount: Usage) -> None:
        """What an attempt may spend at most, on disk before it is spent."""
        landed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        data = {"id": promise, "fan_out": self._fan_out}
        data |= {kind: getattr(amount, kind) for kind in KINDS}
        then = self._landing.expect(_resolve, landed)
        self._journal.submit(self._event("reserve", data), then)
        await landed

    def keep(self, promise: str) -> None:
        """It was spent or not, and what was spent is in the attempts."""
        self._journal.submit(self._event("settle", {"id": promise}))

    def _event(self, kind: str, data: Any) -> port.EventRecord:
        text = msgspec.json.encode(data).decode()
        return port.EventRecord(self._run_id, self._wall(), kind, text)

    def closed(self, status: str, stats: str) -> None:
        self._journal.submit(port.FanOutEnded(self._fan_out, status, self._wall(), stats))
