"""What an attempt of a `call` learns while it runs, and would lose if it were cancelled.

The value of a call says what it cost; but a call that is cancelled, or too slow, has no value,
and by then its first token was there, and perhaps the provider's bill. So the work tells what it
knows as soon as it knows it, and `call` reads it when the attempt is over, however that ended:

    from fanwise.kernel import meter

    async for piece in stream:
        meter.first_token()

Rejected: fields on the `CancelledError`, for libraries on the way replace it, and a time-out turns
it into another error; a parameter, for every function in between would have to hand it on. A
context variable gives each of the calls that an item makes at once a meter of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from fanwise.core.outcome import Usage


class Meter:
    """What one attempt has told."""

    __slots__ = ("_clock", "began", "first_token_s", "usage")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.began = clock()
        self.first_token_s: float | None = None
        self.usage: Usage | None = None

    def since(self) -> float:
        """Seconds since the attempt began."""
        return self._clock() - self.began


_current: ContextVar[Meter | None] = ContextVar("fanwise_meter", default=None)


@contextmanager
def running(meter: Meter) -> Iterator[None]:
    """Here an attempt runs: what the code inside tells goes to this meter."""
    before = _current.set(meter)
    try:
        yield
    finally:
        _current.reset(before)


def first_token(after_s: float | None = None) -> None:
    """The first token is here, `after_s` after its request; default: since the attempt began.

    Only the first word counts. Outside of a `call` there is nobody to tell. A replay may tell
    what was measured once: here it was not later than now.
    """
    meter = _current.get()
    if meter is not None and meter.first_token_s is None:
        now = meter.since()
        meter.first_token_s = now if after_s is None else min(after_s, now)


def spent(usage: Usage) -> None:
    """What the attempt has cost, for certain; the last word counts.

    It counts where `usage` of the call is not given, or gives None.
    """
    meter = _current.get()
    if meter is not None:
        meter.usage = usage
