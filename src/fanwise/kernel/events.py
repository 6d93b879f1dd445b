"""What happens in a run, as a stream that anyone may listen to.

A subscriber is a function that takes an `Event`; it is called on the event loop, in the order in
which things happen, and must be quick. One that raises is reported once, in the log, and goes on
being called: it never breaks a run. Progress displays, telemetry and tests are subscribers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from fanwise.core.counts import Counts
from fanwise.core.outcome import Attempt, Outcome
from fanwise.core.stats import Stats

logger = logging.getLogger("fanwise")


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened. `at`: the time of the event loop."""

    at: float


class RunStarted(Event, frozen=True, kw_only=True):
    """A run begins or, if `resumed`, continues."""

    run_id: str
    resumed: bool


class RunEnded(Event, frozen=True, kw_only=True):
    """A run has ended."""

    run_id: str
    status: str


class FanOutStarted(Event, frozen=True, kw_only=True):
    """A fan-out begins. `total` is None when the items cannot be counted in advance."""

    path: str
    cap: int
    total: int | None


class ItemStarted(Event, frozen=True, kw_only=True):
    """An item's work begins; its start is on disk."""

    path: str
    index: int
    key: str
    needs: tuple[str, ...]


class StageBegan(Event, frozen=True, kw_only=True):
    """An item reports what it is doing now, with `begin_stage` of `fanwise.kernel.stages`."""

    path: str
    index: int
    key: str
    stage: str
    number: int
    """The number of the attempt, from 1."""


class AttemptEnded(Event, frozen=True, kw_only=True):
    """An attempt has ended. The next follows in `retry_in` seconds; None: there is none."""

    path: str
    index: int
    key: str
    number: int
    attempt: Attempt
    retry_in: float | None = None


class ItemEnded(Event, frozen=True, kw_only=True):
    """An item has ended, and its outcome is on disk."""

    path: str
    outcome: Outcome[Any]


class Halted(Event, frozen=True, kw_only=True):
    """Nothing more starts, because of this item (`index`) or for another `reason`."""

    path: str
    index: int | None
    reason: str


class Cancelled(Event, frozen=True, kw_only=True):
    """Items in flight are being cancelled."""

    path: str
    indices: tuple[int, ...]


class Counted(Event, frozen=True, kw_only=True):
    """The progress of a system, in the unit that its users count."""

    path: str
    counts: Counts
    recorded: bool = False
    """Whether it comes from a recorded outcome."""


class CapMoved(Event, frozen=True, kw_only=True):
    """The limit of an adaptive cap has changed."""

    name: str
    before: int
    after: int
    reason: str


class WorkerJoined(Event, frozen=True, kw_only=True):
    """A worker in another process can be given attempts: at the beginning, or later."""

    worker: str
    """As NODE/PROCESS."""


class WorkerGone(Event, frozen=True, kw_only=True):
    """A worker died, or was silent for too long. Its attempts are given to others."""

    worker: str
    reason: str
    keys: tuple[str, ...]
    """The items that it had, which may run twice."""


class NodeGone(Event, frozen=True, kw_only=True):
    """A machine left the cluster, or its last worker fell silent."""

    node: str
    reason: str


WorkerEvent = WorkerJoined | WorkerGone | NodeGone


class FanOutEnded(Event, frozen=True, kw_only=True):
    """A fan-out has ended."""

    path: str
    stats: Stats


Subscriber = Callable[[Event], None]


class Subscribers(list[Subscriber]):
    """The subscribers. A list, because the kernel checks at every step whether there are any."""

    def __init__(self, subscribers: Iterable[Subscriber] = ()) -> None:
        super().__init__(subscribers)
        self.of_calls: list[Callable[[AttemptEnded], None]] = []
        """Told of attempts of calls only: without other subscribers nothing else is reported."""
        self._reported: set[int] = set()

    def emit(self, event: Event) -> None:
        for subscriber in self:
            try:
                subscriber(event)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:
                self._report(subscriber, event)

    def _report(self, subscriber: Subscriber, event: Event) -> None:
        if id(subscriber) not in self._reported:
            self._reported.add(id(subscriber))
            what = type(event).__name__
            logger.exception("a subscriber (%r) raised on %s; the run goes on", subscriber, what)
