"""Performing attempts that another process decided on: the loop of a worker.

A worker has no schedule, permits or journal: its driver has those. It has an event loop in a
thread of its own, so that it can say that it lives even while the user's code blocks that loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from fanwise.core.outcome import Usage
from fanwise.kernel import meter
from fanwise.kernel.home import DriverHome, home
from fanwise.kernel.loop_lag import loop_lag
from fanwise.kernel.scope import caps_at_home
from fanwise.kernel.tasks import new_task
from fanwise.kernel.work import Attempter


class Performed(NamedTuple):
    """How one attempt ended, and what it reported while it ran."""

    number: int
    value: Any
    error: BaseException | None
    ran_s: float
    first_token_s: float | None = None
    usage: Usage | None = None
    lag_s: float = 0.0
    in_flight: int = 0


class _Performance:
    """One attempt."""

    __slots__ = ("begun", "task")

    def __init__(self) -> None:
        self.begun = False
        self.task: asyncio.Task[None] | None = None


class Performer:
    """Performs attempts by number; calls `report` with the end of each, on its loop."""

    def __init__(self, report: Callable[[Performed], None]) -> None:
        self._report = report
        self._open: dict[int, _Performance] = {}
        self.loop = asyncio.new_event_loop()
        self._lag = loop_lag(self.loop)
        self._thread = threading.Thread(target=self._run, name="fanwise-worker", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def post(self, function: Callable[..., object], *args: Any) -> None:
        """Call this on the loop, from any thread."""
        self.loop.call_soon_threadsafe(function, *args)

    # -- on the loop ----------------------------------------------------------------------------

    def begin(
        self,
        number: int,
        attempt: Attempter,
        item: Any,
        driver: DriverHome | None = None,
        caps: frozenset[str] = frozenset(),
    ) -> None:
        """`driver`: where the item asks for permits; `caps`: those that it may ask for."""
        performance = self._open[number] = _Performance()
        work = self._perform(number, performance, attempt, item)
        context = contextvars.copy_context()
        context.run(home.set, driver)
        context.run(caps_at_home.set, caps)
        performance.task = new_task(work, self.loop, context)

    def cancel(self, number: int) -> None:
        """Cancel an attempt; its end is reported when it has ended. Again: once more."""
        performance = self._open.get(number)
        if performance is None or performance.task is None:
            return
        if not performance.begun:
            # A task that is cancelled before its first step never runs any of its code.
            performance.task.add_done_callback(lambda _: self._never_ran(number))
        performance.task.cancel()

    def _never_ran(self, number: int) -> None:
        if self._open.pop(number, None) is not None:
            self._report(Performed(number, None, asyncio.CancelledError(), 0.0))

    async def _perform(
        self, number: int, performance: _Performance, attempt: Attempter, item: Any
    ) -> None:
        performance.begun = True
        reading = meter.Meter(time.monotonic)  # the clock of some loops counts milliseconds
        value: Any = None
        error: BaseException | None = None
        lag_s, in_flight = self._lag.began(), self._lag.in_flight
        with meter.running(reading):
            try:
                value = await attempt(item)
            except BaseException as caught:
                error = caught
        ran_s = reading.since()
        in_flight = max(in_flight, self._lag.in_flight)
        lag_s = min(ran_s, lag_s + self._lag.ended())
        self._open.pop(number, None)
        self._report(
            Performed(
                number, value, error, ran_s, reading.first_token_s, reading.usage, lag_s, in_flight
            )
        )
        del value, error  # an error's traceback holds this frame
