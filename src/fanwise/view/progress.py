"""Where a run stands, counted from its events; drawing it is somebody else's business.

Items inside items are not counted, for nobody knows in advance how many there will be. The permits
that they hold are.
"""

from __future__ import annotations

from collections import Counter, deque

from fanwise.core.paths import is_top
from fanwise.kernel import events

WINDOW = 500
"""Ends that the rate is taken over: it follows a change of speed, and is not nervous."""


TERMINAL = "terminal"
"""Whoever holds the cap of this name asks somebody at the terminal."""


class Progress:
    """A subscriber that counts."""

    def __init__(self, total: int | None = None) -> None:
        self.total = total
        self.done = 0
        self.failed = 0
        self.recorded = 0
        """Of those that ended: read from the journal, not run here."""
        self.in_flight_by_cap: Counter[str] = Counter()
        self._caps: dict[str, int] = {}
        self._in_flight: dict[tuple[str, int], tuple[str, ...]] = {}
        self._top_in_flight = 0
        self._ends: deque[float] = deque(maxlen=WINDOW)

    def __call__(self, event: events.Event) -> None:
        """Count it."""
        if isinstance(event, events.FanOutStarted) and is_top(event.path):
            self._caps[event.path] = event.cap
            self._ends.append(event.at)
        elif isinstance(event, events.FanOutEnded):
            self._caps.pop(event.path, None)
        elif isinstance(event, events.ItemStarted):
            self._in_flight[event.path, event.index] = event.needs
            self._top_in_flight += is_top(event.path)
            self.in_flight_by_cap.update(event.needs)
        elif isinstance(event, events.ItemEnded):
            self._ended(event)

    @property
    def cap(self) -> int:
        """Most in flight at once, of the fan-outs that go on now."""
        return sum(self._caps.values())

    @property
    def in_flight(self) -> int:
        """Items whose work has begun and not ended."""
        return self._top_in_flight

    @property
    def asks(self) -> bool:
        """Whether somebody is being asked: what is drawn now would stand in the question."""
        return self.in_flight_by_cap[TERMINAL] > 0

    @property
    def ended(self) -> int:
        """Items that are done or failed."""
        return self.done + self.failed

    def rate(self, now: float) -> float | None:
        """Items a second, of late; None before there is anything to say."""
        if len(self._ends) < 2 or now <= self._ends[0]:
            return None
        return (len(self._ends) - 1) / (now - self._ends[0])

    def seconds_left(self, now: float) -> float | None:
        """How long it will take at this rate, if the total is known."""
        rate = self.rate(now)
        if rate is None or self.total is None:
            return None
        return max(0, self.total - self.ended) / rate

    def _ended(self, event: events.ItemEnded) -> None:
        outcome = event.outcome
        started = self._in_flight.pop((event.path, outcome.index), None)
        self.in_flight_by_cap.subtract(started or ())
        if not is_top(event.path):
            return
        self._top_in_flight -= started is not None
        self.done += outcome.status == "done"
        self.failed += outcome.status == "failed"
        if outcome.recorded:
            self.recorded += 1
        else:
            self._ends.append(event.at)
