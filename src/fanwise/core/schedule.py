"""The state machine of one fan-out: items in, "start these" out; outcomes in, "cancel those" out.

It only decides; it has no tasks and no clock. The kernel drives it in real or virtual time, and the
property tests drive it through thousands of schedules without an event loop.

An item goes waiting -> running -> (backing off -> waiting -> running)* -> ended. After a halt at
item j, nothing after j starts and what runs after j is cancelled. Items before j go on, started or
not, because an earlier one may halt too.

An item is its own ticket, and its order is its index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, TypeVar

import msgspec

from fanwise.core.halt import Halt
from fanwise.core.ledger import Ledger
from fanwise.core.outcome import Outcome
from fanwise.core.resource import Resource
from fanwise.core.stats import TOTAL, Stats, lower_bound
from fanwise.core.tickets import Group, ResolvedNeeds, Ticket

LOOK_AHEAD = 10_000
"""The most items that are pulled and wait, to find one that can run."""

E = TypeVar("E", bound=Ticket)


class Decision(msgspec.Struct, Generic[E], frozen=True):
    """What a halt requires: cancel these items in flight, and skip those that never started."""

    cancel: tuple[E, ...] = ()
    skip: tuple[E, ...] = ()


NOTHING: Decision[Any] = Decision()


class Schedule(Generic[E]):
    """Which items of a fan-out start, which are cancelled, and when it is over."""

    def __init__(self, ledger: Ledger, cap: int, halt: Halt, *, now: float) -> None:
        self.ledger = ledger
        self.halt = halt
        self.cap = cap
        self.open: dict[int, E] = {}
        """The items that have not ended, by index."""
        self.halted_by: int | None = None
        """The item that halted the fan-out, if one did; its outcome is the last."""
        self.halted = False
        """Nothing more starts, because of an outcome or an order from outside."""
        self.exhausted = False
        self._named_caps = bool(ledger.resources)
        self._total = Resource(TOTAL, cap)
        self.only_total: ResolvedNeeds = ((self._total, 1),)
        """The needs of an item without a named cap."""
        self._resolved: dict[str, ResolvedNeeds] = {}
        self.group = Group("longest" if halt.kind == "never" else "order")
        """The group of all its items."""
        self._began = now
        self._work_s = 0.0
        self._work_by_cap: dict[str, float] = {}

    # -- items in -------------------------------------------------------------------------------

    def wants_items(self, ahead: bool = False) -> bool:
        """Whether to pull another item: it could run now or, with `ahead`, it may wait."""
        if self.halted or self.exhausted or self.group.waiting >= LOOK_AHEAD:
            return False
        return ahead or self._total.in_use < self.cap

    def add(self, item: E, needs: Mapping[str, int] | None, now: float) -> bool:
        """Add an item. True: start it now, its permits are taken. False: it waits."""
        item.needs = self._resolve(needs) if needs else self.only_total
        self.open[item.order] = item
        if self._named_caps or self._total.in_use >= self.cap:
            return self.ledger.request(item, now)
        # The fan-out's own cap is the only one, so there is nothing else to check.
        item.state = "held"
        item.taken_at = now
        self._total.in_use += 1
        if self._total.in_use > self._total.peak:
            self._total.peak = self._total.in_use
        return True

    def change_cap(self, cap: int) -> None:
        """From now on at most this many at once; what is in flight stays so."""
        self.cap = cap
        self.ledger.change(self._total, cap)

    # -- what happened --------------------------------------------------------------------------

    def pause(self, item: E, ran_s: float) -> None:
        """An attempt failed and the item backs off, without permits."""
        self._release(item, ran_s)

    def again(self, item: E, now: float) -> bool:
        """Ask for another attempt. True: start it, its permits are taken. False: it waits."""
        item.tried = True
        return self.ledger.request(item, now)

    def worked(self, item: E, ran_s: float) -> None:
        """The item's work is over: its permits are free, but its outcome is not final yet."""
        if item.state != "held":
            return
        if self._named_caps or self.group.waiting:
            self._release(item, ran_s)
            return
        item.state = "over"
        self._total.in_use -= 1
        self._work_s += ran_s

    def ended(self, outcome: Outcome[Any]) -> Decision[E]:
        """An item's outcome is final, and on disk. Returns what it halts."""
        index = outcome.index
        self.open.pop(index, None)
        if self.halt.kind == "never" or not self._counts(index) or not self.halt.judge(outcome):
            return NOTHING
        self.halted_by = index
        self.halted = True
        return self._give_up(lambda other: other.order > index or self.halt.kind == "fastest")

    def forget(self, index: int) -> None:
        """Drop the item without an outcome, because the fan-out is being aborted."""
        item = self.open.pop(index, None)
        if item is None:
            return
        if item.state == "waiting":
            self.ledger.withdraw(item)
        elif item.state == "held":
            self.ledger.release(item, 0.0)

    def halt_now(self) -> Decision[E]:
        """Start nothing more; what runs may finish."""
        self.halted = True
        return self._give_up(lambda other: other.state != "held")

    def cancel(self) -> Decision[E]:
        """Cancel everything."""
        self.halted = True
        return self._give_up(lambda _: True)

    # -- what is ---------------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Whether every item has ended and no more will come."""
        return not self.open and (self.exhausted or self.halted)

    def state(self, index: int) -> Literal["waiting", "running", "backing off", "ended"]:
        """Where an item stands."""
        item = self.open.get(index)
        if item is None:
            return "ended"
        if item.state == "waiting":
            return "waiting"
        return "running" if item.state == "held" else "backing off"

    @property
    def in_flight(self) -> int:
        """Items that hold permits."""
        return self._total.in_use

    @property
    def waiting(self) -> int:
        """Items that were pulled and wait for permits."""
        return self.group.waiting

    def is_open(self, index: int) -> bool:
        """Whether the item has not ended."""
        return index in self.open

    def stats(self, now: float, inside: Mapping[str, float]) -> Stats:
        """Peaks, work and the lower bound. `inside`: the work of calls and nested fan-outs.

        The peak of a named cap counts everyone who shares it, because that is what is bounded.
        """
        peak = {TOTAL: self._total.peak}
        caps: dict[str, float] = {TOTAL: self._total.most or self.cap}
        work = {TOTAL: self._work_s, **self._work_by_cap}
        for name, resource in self.ledger.resources.items():
            peak[name] = resource.peak
            caps[name] = resource.most or 0
            work[name] = work.get(name, 0.0) + inside.get(name, 0.0)
        return Stats(peak, work, now - self._began, lower_bound(work, caps))

    # -- inside ---------------------------------------------------------------------------------

    def _resolve(self, needs: Mapping[str, int]) -> ResolvedNeeds:
        """Most items need one permit of one cap, always the same few, so these are cached."""
        if len(needs) > 1:
            return self.ledger.resolve(needs, self._total)
        [(name, units)] = needs.items()
        if units > 1:
            return self.ledger.resolve(needs, self._total)
        found = self._resolved.get(name)
        if found is None:
            found = self._resolved[name] = self.ledger.resolve(needs, self._total)
        return found

    def _release(self, item: E, ran_s: float) -> None:
        self.ledger.release(item, ran_s)
        self._work_s += ran_s
        for resource, units in item.needs[1:]:
            name = resource.name
            self._work_by_cap[name] = self._work_by_cap.get(name, 0.0) + ran_s * units

    def _counts(self, index: int) -> bool:
        """After a halt only an earlier item can halt again; the fastest wins once."""
        if self.halted_by is None:
            return True
        return self.halt.kind != "fastest" and index < self.halted_by

    def _give_up(self, which: Callable[[E], bool]) -> Decision[E]:
        cancel: list[E] = []
        skip: list[E] = []
        for item in [each for each in self.open.values() if which(each)]:
            if item.state == "waiting":
                self.ledger.withdraw(item)
                if not item.tried:
                    del self.open[item.order]
                    skip.append(item)
                    continue
            cancel.append(item)
        return Decision(tuple(cancel), tuple(skip))
