"""The progress of a run, counted from its events. `cli/progress_line.py` draws it.

A system reports its progress in the unit that its users count (`Counted`). For other runs the items
of top-level fan-outs are counted; items of nested fan-outs are not, because their number is not
known in advance.
"""

from __future__ import annotations

from collections import Counter, deque

from fanwise.core.caps import Caps
from fanwise.core.paths import is_top
from fanwise.kernel import events

WINDOW = 500
"""How many recent ends the rate is computed from: enough to be steady, yet follow changes."""


TERMINAL = "terminal"
"""An item that holds this cap is asking the user at the terminal."""


class Progress:
    """A subscriber that counts. `caps`: the caps that the user gave the run."""

    def __init__(self, total: int | None = None, caps: Caps | None = None) -> None:
        self.total = total
        self.unit = ""
        """What is counted, where the system says so."""
        self.done = 0
        self.failed = 0
        self.recorded = 0
        """How many of those that ended were read from the journal instead of run."""
        self.estimates = True
        """Whether the time left is told: not after a halt, or if the system's drawing tells it."""
        self._named = caps
        self._held: Counter[str] = Counter()
        self._caps: dict[str, int] = {}
        self.workers: set[str] = set()
        """Workers in other processes that are there now."""
        self._in_flight: dict[tuple[str, int], tuple[str, ...]] = {}
        self._top_in_flight = 0
        self._ends: deque[float] = deque(maxlen=WINDOW)

    def __call__(self, event: events.Event) -> None:
        if isinstance(event, events.FanOutStarted) and is_top(event.path):
            self._caps[event.path] = event.cap
            self._ends.append(event.at)
        elif isinstance(event, events.FanOutEnded):
            self._caps.pop(event.path, None)
        elif isinstance(event, events.ItemStarted):
            self._in_flight[event.path, event.index] = event.needs
            self._top_in_flight += is_top(event.path)
            self._held.update(event.needs)
        elif isinstance(event, events.ItemEnded):
            self._ended(event)
        elif isinstance(event, events.Counted) and is_top(event.path):
            self._counted(event)
        elif isinstance(event, events.WorkerJoined):
            self.workers.add(event.worker)
        elif isinstance(event, events.WorkerGone):
            self.workers.discard(event.worker)
        elif isinstance(event, events.Halted | events.Cancelled) and is_top(event.path):
            self.estimates = False  # only what is in flight goes on: the rate says nothing of it

    @property
    def cap(self) -> int | None:
        """The cap of all top-level fan-outs that are running now; None: a system sets its own."""
        return None if self.unit else sum(self._caps.values())

    @property
    def in_flight(self) -> int:
        """Top-level items that are running."""
        return self._top_in_flight

    @property
    def in_use(self) -> dict[str, tuple[int, int | None]]:
        """Permits that are held, and how many there are, of each of the user's caps in use."""
        if self._named is None:
            return {}
        return {
            name: (resource.in_use, resource.limit)
            for name, resource in sorted(self._named.ledger.resources.items())
            if resource.in_use and name != TERMINAL
        }

    @property
    def asks(self) -> bool:
        """Whether a question is on the terminal, so that nothing may be drawn over it."""
        return self._held[TERMINAL] > 0

    @property
    def ended(self) -> int:
        """How many are done or have failed."""
        return self.done + self.failed

    def rate(self, now: float) -> float | None:
        """Recent ends per second; None until there is enough data."""
        if len(self._ends) < 2 or now <= self._ends[0]:
            return None
        return (len(self._ends) - 1) / (now - self._ends[0])

    def seconds_left(self, now: float) -> float | None:
        """Estimated time left, if the total is known."""
        rate = self.rate(now)
        if rate is None or self.total is None or not self.estimates:
            return None
        return max(0, self.total - self.ended) / rate

    def _ended(self, event: events.ItemEnded) -> None:
        outcome = event.outcome
        started = self._in_flight.pop((event.path, outcome.index), None)
        self._held.subtract(started or ())
        if not is_top(event.path):
            return
        self._top_in_flight -= started is not None
        if self.unit:
            return
        self.done += outcome.status == "done"
        self.failed += outcome.status == "failed"
        if outcome.recorded:
            self.recorded += 1
        else:
            self._ends.append(event.at)

    def _counted(self, event: events.Counted) -> None:
        before, counts = self.ended if self.unit else 0, event.counts
        if not self.unit:  # what ended so far was counted in another unit
            self._ends = deque([event.at], maxlen=WINDOW)
        self.unit, self.total = counts.unit, counts.total
        self.done, self.failed = counts.done, counts.failed
        more = self.ended - before
        if event.recorded:
            self.recorded += more
        else:
            self._ends.extend([event.at] * more)
