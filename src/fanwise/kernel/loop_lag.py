"""How late the event loop is: the part of a call's time that is this process's own.

A call is measured from its start to the moment at which this process takes notice of its end. When
the loop is busy with other calls, it takes notice late: a model that answers in 20 ms seems to need
50. So while calls are in flight a timer is set every 10 ms, and how much too late it runs is how
long an answer has to wait as well. It costs a few microseconds per beat, whatever the number of
calls, and nothing while there are none.

The lag of a call is that of the loop when it began and when it ended. A pause in between does it no
harm. It is an upper bound for a single pause (the answer may have come at its end), and too little
where a call wakes the loop many times; so it flags times rather than correcting them.

In virtual time computing takes no time, so there is no lag, unless a test says so with
`VirtualLoop.block`.
"""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from fanwise.kernel.virtual_time import VirtualLoop, clock_of

BEAT_S = 0.01
UNSURE_S = 0.002
"""Timers are late by so much on any machine: the system's own resolution."""


class LoopLag:
    """Of one loop. A call reports `began` and `ended`; both give the lag at that moment."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._clock = clock_of(loop)
        self.in_flight = 0
        """Calls that began and have not ended."""
        self._beats = False
        self._due = 0.0
        self._late = 0.0

    def began(self) -> float:
        """A call begins: seconds by which the loop is late now."""
        self.in_flight += 1
        if not self._beats:
            self._late = 0.0
            self._beats = not isinstance(self._loop, VirtualLoop)
            if self._beats:
                self._next()
        return self._now()

    def ended(self) -> float:
        """A call has ended: seconds by which the loop is late now."""
        self.in_flight -= 1
        return self._now()

    def _now(self) -> float:
        if isinstance(self._loop, VirtualLoop):
            return self._loop.lag
        late = max(self._late, self._clock() - self._due)
        return late if late > UNSURE_S else 0.0

    def _next(self) -> None:
        self._due = self._clock() + BEAT_S
        self._loop.call_later(BEAT_S, self._beat)

    def _beat(self) -> None:
        self._late = self._clock() - self._due
        if self.in_flight:
            self._next()
        else:
            self._beats = False


_of_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopLag] = WeakKeyDictionary()


def loop_lag(loop: asyncio.AbstractEventLoop) -> LoopLag:
    """The one of this loop."""
    found = _of_loop.get(loop)
    if found is None:
        found = _of_loop[loop] = LoopLag(loop)
    return found
