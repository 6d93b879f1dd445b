"""What an attempt of a `call` reports while it runs, so that it is known even if it is cancelled.

The value of a call says what it cost. But a call that is cancelled or times out has no value, even
if its first token had arrived and the provider will send a bill. So the work reports what it knows
as soon as it knows it, and `call` reads that when the attempt is over, however it ended:

    from fanwise.kernel import meter

    async for piece in stream:
        meter.first_token()

Rejected: fields on the `CancelledError`, because libraries replace it and a time-out turns it into
another error; and a parameter, because every function in between would have to pass it on. With a
context variable, each of the calls that an item makes at once has a meter of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple

from fanwise.core.outcome import Usage


class Elsewhere(NamedTuple):
    """Who made an attempt if it was not this process, and what was measured there."""

    worker: str
    ran_s: float
    lag_s: float
    in_flight: int


class Meter:
    """What one attempt has reported."""

    __slots__ = ("_clock", "began", "elsewhere", "first_token_s", "usage")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.began = clock()
        self.first_token_s: float | None = None
        self.usage: Usage | None = None
        self.elsewhere: Elsewhere | None = None

    def since(self) -> float:
        """Seconds since the attempt began."""
        return self._clock() - self.began


_current: ContextVar[Meter | None] = ContextVar("fanwise_meter", default=None)


class running:  # noqa: N801 - a generator's context manager takes five times as long
    """Inside this block an attempt runs, and reports to this meter."""

    __slots__ = ("_before", "_meter")

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def __enter__(self) -> None:
        self._before = _current.set(self._meter)

    def __exit__(self, *_: object) -> None:
        _current.reset(self._before)


def first_token(after_s: float | None = None) -> None:
    """Report the first token, `after_s` seconds after its request; default: now.

    Only the first report counts, and outside a `call` it does nothing. A replay may report the
    recorded time, but never more than the time since the attempt began.
    """
    meter = _current.get()
    if meter is not None and meter.first_token_s is None:
        now = meter.since()
        meter.first_token_s = now if after_s is None else min(after_s, now)


def spent(usage: Usage) -> None:
    """Report what the attempt has certainly cost so far; the last report counts.

    It is used if the call was given no `usage`, or if that returns None.
    """
    meter = _current.get()
    if meter is not None:
        meter.usage = usage


def made_elsewhere(by: Elsewhere) -> bool:
    """Report that a worker made the attempt. False: no call waits for it, but an item."""
    meter = _current.get()
    if meter is not None:
        meter.elsewhere = by
    return meter is not None
