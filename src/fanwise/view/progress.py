"""The progress of a run, counted from its events. `cli/progress_line.py` draws it.

Items of nested fan-outs are not counted, because their number is not known in advance. The permits
they hold are counted.
"""

from __future__ import annotations

from collections import Counter, deque

from fanwise.core.paths import is_top
from fanwise.kernel import events

WINDOW = 500
"""How many recent ends the rate is computed from: enough to be steady, yet follow changes."""


TERMINAL = "terminal"
"""An item that holds this cap is asking the user at the terminal."""


class Progress:
    """A subscriber that counts items."""

    def __init__(self, total: int | None = None) -> None:
        self.total = total
        self.done = 0
        self.failed = 0
        self.recorded = 0
        """How many of the ended items were read from the journal instead of run."""
        self.in_flight_by_cap: Counter[str] = Counter()
        self._caps: dict[str, int] = {}
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
            self.in_flight_by_cap.update(event.needs)
        elif isinstance(event, events.ItemEnded):
            self._ended(event)

    @property
    def cap(self) -> int:
        """The cap of all top-level fan-outs that are running now."""
        return sum(self._caps.values())

    @property
    def in_flight(self) -> int:
        """Top-level items that are running."""
        return self._top_in_flight

    @property
    def asks(self) -> bool:
        """Whether a question is on the terminal, so that nothing may be drawn over it."""
        return self.in_flight_by_cap[TERMINAL] > 0

    @property
    def ended(self) -> int:
        """Items that are done or have failed."""
        return self.done + self.failed

    def rate(self, now: float) -> float | None:
        """Recent items per second; None until there is enough data."""
        if len(self._ends) < 2 or now <= self._ends[0]:
            return None
        return (len(self._ends) - 1) / (now - self._ends[0])

    def seconds_left(self, now: float) -> float | None:
        """Estimated time left, if the total is known."""
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
