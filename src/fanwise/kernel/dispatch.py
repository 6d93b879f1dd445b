"""Connects a ledger to an event loop: passes grants on, and sets a timer for rates that refill.

All fan-outs that share a ledger share its dispatcher, so a permit that one gives back can start an
item of another.
"""

from __future__ import annotations

import asyncio

from fanwise.core.ledger import Ledger
from fanwise.core.tickets import Ticket
from fanwise.errors import UsageError
from fanwise.kernel.virtual_time import clock_of


class PermitWaiter(Ticket):
    """A ticket that can be told of its grant: an item or a call."""

    __slots__ = ()

    def granted(self) -> None:
        """Called when the permits are taken."""
        raise NotImplementedError


class Dispatcher:
    """Made by `dispatcher_of`."""

    def __init__(self, ledger: Ledger, loop: asyncio.AbstractEventLoop) -> None:
        self.ledger = ledger
        self.loop = loop
        self._time = clock_of(loop)
        self._timer: asyncio.TimerHandle | None = None

    def pump(self) -> None:
        """Start every ticket that can go now."""
        for ticket in self.ledger.grants(self._time()):
            assert isinstance(ticket, PermitWaiter)
            ticket.granted()
        if self._timer is not None or self.ledger.timed:
            self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wake_at = self.ledger.wake_at(self._time())
        if wake_at is not None:
            self._timer = self.loop.call_at(wake_at, self.pump)


def dispatcher_of(ledger: Ledger) -> Dispatcher:
    """The dispatcher of this ledger on the running loop."""
    loop, ledger = asyncio.get_running_loop(), ledger.root
    found = ledger.driver
    if isinstance(found, Dispatcher) and found.loop is not loop:
        if not ledger.idle and not found.loop.is_closed():
            raise UsageError(
                "these caps are in use on another event loop",
                "Give each event loop Caps of its own",
            )
        found = None
    if not isinstance(found, Dispatcher):
        found = ledger.driver = Dispatcher(ledger, loop)
    return found
