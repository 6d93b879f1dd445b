"""The state machine of one fan-out: items in, "start these" out; outcomes in, "cancel those" out.

It decides, and performs nothing: no task, no clock. The kernel drives it in real or virtual
time, the property tests drive it by the ten thousand schedules without an event loop.

An item goes waiting -> running -> (backing off -> waiting -> running)* -> ended. After a halt at
item j: nothing after j starts, what runs after j is cancelled, what stands before j goes on,
started or not, for an earlier one may halt too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from fanwise.core.halt import Halt
from fanwise.core.ledger import Ledger
from fanwise.core.outcome import Outcome
from fanwise.core.resource import Resource
from fanwise.core.stats import TOTAL, Stats, lower_bound
from fanwise.core.waiting import Group, Ticket, Wanted

LOOK_AHEAD = 10_000
"""Most items that are pulled and wait, to find one that can run."""


class Decision(msgspec.Struct, frozen=True):
    """What a halt asks for: end these in flight; forget those that never started."""

    cancel: tuple[int, ...] = ()
    skip: tuple[int, ...] = ()


NOTHING = Decision()


class Schedule:
    """Which items of a fan-out start, which are cancelled, and when it is over."""

    def __init__(self, ledger: Ledger, cap: int, halt: Halt, *, now: float) -> None:
        self.ledger = ledger
        self.halt = halt
        self.cap = cap
        self.halted_by: int | None = None
        """The item whose outcome is the last one, if there is one."""
        self.halted = False
        """Nothing more starts: a halt, or an order from outside."""
        self.exhausted = False
        self._total = Resource(TOTAL, cap)
        self._only_total: Wanted = ((self._total, 1),)
        self._group = Group("longest" if halt.kind == "never" else "order")
        self._open: dict[int, Ticket] = {}
        self._tried: set[int] = set()  # items that had an attempt and want another
        self._began = now
        self._work_s: dict[str, float] = {TOTAL: 0.0}

    # -- items in -------------------------------------------------------------------------------

    def wants_items(self, *, ahead: bool = False) -> bool:
        """Whether to pull one more: something could run it now, or (`ahead`) to know it early."""
        if self.halted or self.exhausted or self._group.waiting >= LOOK_AHEAD:
            return False
        return ahead or self._total.in_use < self.cap

    def add(self, index: int, needs: Mapping[str, int] | None, now: float, tag: object) -> bool:
        """A new item. True: start it now, its permits are taken. False: it waits."""
        resolved = self._only_total if not needs else self.ledger.resolve(needs, self._total)
        ticket = Ticket(self._group, resolved, index, tag)
        self._open[index] = ticket
        return self.ledger.request(ticket, now)

    # -- what happened --------------------------------------------------------------------------

    def pause(self, index: int, ran_s: float) -> None:
        """An attempt failed and the item backs off: it holds no permit meanwhile."""
        self._release(self._open[index], ran_s)

    def again(self, index: int, now: float, tag: object) -> bool:
        """It wants another attempt. True: now, its permits are taken. False: it waits."""
        old = self._open[index]
        ticket = Ticket(self._group, old.needs, index, tag)
        self._open[index] = ticket
        self._tried.add(index)
        return self.ledger.request(ticket, now)

    def worked(self, index: int, ran_s: float) -> None:
        """The item's work is over: its permits are free, its outcome is not known yet."""
        ticket = self._open[index]
        if ticket.state == "held":
            self._release(ticket, ran_s)

    def ended(self, index: int, outcome: Outcome[Any]) -> Decision:
        """The item's outcome is known (and on disk, perhaps since long). Says what this ends."""
        self._open.pop(index, None)
        if self._tried:
            self._tried.discard(index)
        if self.halt.kind == "never" or not self._counts(index) or not self.halt.judge(outcome):
            return NOTHING
        self.halted_by = index
        self.halted = True
        return self._give_up(lambda other: other > index or self.halt.kind == "fastest")

    def forget(self, index: int) -> None:
        """The item ends without an outcome: the fan-out is being given up."""
        ticket = self._open.pop(index, None)
        if ticket is None:
            return
        if ticket.state == "waiting":
            self.ledger.withdraw(ticket)
        elif ticket.state == "held":
            self.ledger.release(ticket, 0.0)

    def halt_now(self) -> Decision:
        """An order from outside: start nothing more; what runs may end."""
        self.halted = True
        return self._give_up(lambda other: self._open[other].state != "held")

    def cancel(self) -> Decision:
        """An order from outside: end everything."""
        self.halted = True
        return self._give_up(lambda _: True)

    # -- what is ---------------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Nothing is open and nothing more will come."""
        return not self._open and (self.exhausted or self.halted)

    def state(self, index: int) -> Literal["waiting", "running", "backing off", "ended"]:
        """Where an item stands."""
        ticket = self._open.get(index)
        if ticket is None:
            return "ended"
        if ticket.state == "waiting":
            return "waiting"
        return "running" if ticket.state == "held" else "backing off"

    @property
    def in_flight(self) -> int:
        """Items that hold permits."""
        return self._total.in_use

    @property
    def waiting(self) -> int:
        """Items that were pulled and wait for permits."""
        return self._group.waiting

    def ticket(self, index: int) -> Ticket:
        """The permits of an open item's present attempt."""
        return self._open[index]

    def is_open(self, index: int) -> bool:
        """Whether the item has not ended."""
        return index in self._open

    def needs_of(self, index: int) -> list[str]:
        """The named caps that an open item holds or waits for."""
        return [resource.name for resource, _ in self._open[index].needs[1:]]

    def stats(self, now: float, inside: Mapping[str, float]) -> Stats:
        """Peaks, work and the lower bound. `inside`: the work of calls and nested fan-outs.

        The peak of a named cap is that of all who share it: this is what is bounded.
        """
        peak = {TOTAL: self._total.peak}
        caps: dict[str, float] = {TOTAL: self.cap}
        work = dict(self._work_s)
        for name, resource in self.ledger.resources.items():
            peak[name] = resource.peak
            caps[name] = resource.most or 0
            work[name] = work.get(name, 0.0) + inside.get(name, 0.0)
        return Stats(peak, work, now - self._began, lower_bound(work, caps))

    # -- inside ---------------------------------------------------------------------------------

    def _release(self, ticket: Ticket, ran_s: float) -> None:
        self.ledger.release(ticket, ran_s)
        self._work_s[TOTAL] += ran_s
        for resource, units in ticket.needs[1:]:
            name = resource.name
            self._work_s[name] = self._work_s.get(name, 0.0) + ran_s * units

    def _counts(self, index: int) -> bool:
        """After a halt only an earlier item can halt again; the fastest wins once."""
        if self.halted_by is None:
            return True
        return self.halt.kind != "fastest" and index < self.halted_by

    def _give_up(self, which: Callable[[int], bool]) -> Decision:
        cancel: list[int] = []
        skip: list[int] = []
        for index in [i for i in self._open if which(i)]:
            ticket = self._open[index]
            if ticket.state == "waiting":
                self.ledger.withdraw(ticket)
                if index not in self._tried:
                    del self._open[index]
                    skip.append(index)
                    continue
            cancel.append(index)
        return Decision(tuple(cancel), tuple(skip))
