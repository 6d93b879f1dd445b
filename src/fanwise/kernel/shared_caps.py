"""Leases for shared caps: a thread that talks to the book, and what the event loop does with it.

A process holds some permits of a shared cap and gives them out as those of any other cap. Only when
somebody waits for more than it holds, when others want what it cannot use, or when the lease has to
be renewed, it exchanges with the book (`journal/leases.py`), which may wait for a file or a server:
so that is in a thread. Permits are taken out of use here before they are given back there, and
given back by the book before they are used here: so never more are in use than are leased.

A lease that was not renewed in time is void (`Leased.until`): nothing starts until there is a new
one. What is in flight then goes on, and counts in the new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import uuid
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from fanwise.core.budget import Budget, Budgets
from fanwise.core.ledger import Ledger
from fanwise.core.resource import Resource
from fanwise.core.shared_amounts import SharedBucket
from fanwise.core.shares import Due, nobody
from fanwise.errors import JournalError, UsageError
from fanwise.journal.leases import Lease, LeaseBook, News, Offer
from fanwise.journal.port import Journal
from fanwise.kernel.dispatch import dispatcher_of
from fanwise.kernel.shared_amounts import (
    PATIENCE_S,
    STARVED_S,
    TRY_AGAIN_S,
    SharedAmount,
    SharedMoney,
    SharedRate,
)

RENEW = 1 / 3
"""A lease is renewed when this part of its time has passed."""
SAFE = 0.9
"""It counts as void after this part, because clocks are not exactly as fast as each other."""
DIP_S = 0.002
"""Permits that are not in use for so long are given to others who wait."""
IDLE_S = 3600.0


class _LeaseOrder(NamedTuple):
    """An exchange that the thread makes."""

    work: Callable[[LeaseBook], Any]
    then: Callable[[Any], None]
    """Called on the loop with what it gave, or with its error."""


class LeaseKeeper:
    """The leases of one run, on one event loop."""

    def __init__(self, journal: Journal, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.shares: dict[str, SharedPermits] = {}
        """By holder."""
        self.amounts: list[SharedAmount] = []
        """Shared rates and budgets."""
        self._book: LeaseBook | None = None
        self._orders: SimpleQueue[_LeaseOrder | None] = SimpleQueue()
        self._thread = threading.Thread(
            target=self._work, args=(journal,), name="fanwise-leases", daemon=True
        )
        self._thread.start()

    def perform(self, work: Callable[[LeaseBook], Any], then: Callable[[Any], None]) -> None:
        """Let the thread do this with the book."""
        self._orders.put(_LeaseOrder(work, then))
        if self._book is not None:
            self._book.wake()

    def close(self) -> None:
        """Give everything back, and wait until that is done. Not on the event loop."""
        self._orders.put(None)
        if self._book is not None:
            self._book.wake()
        self._thread.join()

    def permits(self, ledger: Ledger, resource: Resource) -> SharedPermits:
        """What renews the lease of this cap: another run may do so already."""
        assert resource.leased is not None
        found = resource.leased.owner
        if not isinstance(found, SharedPermits) or found.keeper.loop is not self.loop:
            self._give_up_idle(resource.leased.name)
            found = SharedPermits(self, ledger, resource)
            self.shares[found.holder] = found
        return found

    def _give_up_idle(self, name: str) -> None:
        """Leases of this cap that no fan-out uses any more: each would be renewed for ever."""
        for share in [each for each in self.shares.values() if each.name == name]:
            if not share.users:
                share.detach()
                del self.shares[share.holder]
                self.perform(partial(_released, share), lambda _: None)

    def detach(self) -> None:
        """Nothing starts under these leases any more. On the event loop, or after its end."""
        for share in self.shares.values():
            share.detach()
        for amount in self.amounts:
            amount.detach()

    # -- in the thread --------------------------------------------------------------------------

    def _work(self, journal: Journal) -> None:
        try:
            self._book = book = journal.lease_book()
        except Exception as error:  # whoever asks must get an answer, whatever went wrong
            self._refuse(error)
            return
        try:
            try:
                while self._serve(book):
                    self._tell(book.wait(0.0 if not self._orders.empty() else IDLE_S))
            except Exception as error:
                self._refuse(error)
            for share in self.shares.values():
                _released(share, book)
            for amount in self.amounts:
                with contextlib.suppress(Exception):  # then it runs out
                    amount.last_word(book)
        finally:
            book.close()

    def _serve(self, book: LeaseBook) -> bool:
        """Make the exchanges that were asked for; False: it is over."""
        while True:
            try:
                order = self._orders.get_nowait()
            except Empty:
                return True
            if order is None:
                return False
            try:
                found = order.work(book)
            except Exception as error:
                found = error
            self._call(order.then, found)

    def _refuse(self, error: Exception) -> None:
        """There is no book, so whoever asks gets the error."""
        while (order := self._orders.get()) is not None:
            self._call(order.then, error)

    def _tell(self, news: News) -> None:
        for holder, due in news.items():
            if (share := self.shares.get(holder)) is not None:
                self._call(share.told, due)

    def _call(self, function: Callable[..., None], *args: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: everything has ended
            self.loop.call_soon_threadsafe(function, *args)


class SharedPermits:
    """One shared cap of this process: how many permits it holds, and when it asks for others."""

    def __init__(self, keeper: LeaseKeeper, ledger: Ledger, resource: Resource) -> None:
        assert resource.leased is not None
        self.keeper = keeper
        self.name = resource.leased.name
        self.holder = uuid.uuid4().hex
        self.exchanges = 0
        self.users: dict[object, SharedCapUser] = {}
        """The fan-outs that use it."""
        self._ledger = ledger
        self._resource = resource
        self._leased = resource.leased
        self._leased.look = self.look
        self._leased.owner = self
        self._held = 0
        """Permits that are ours in the book. Some of them may have to go: see `_due`."""
        self._due = Due(0, contended=False)
        self._told_demand = 0
        self._asked_at: float | None = None
        """When the exchange that is under way began."""
        self._renew_at = -math.inf
        self._failing_since: float | None = None
        self._has_news = False
        self._dip_since: float | None = None
        self._soon: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None

    def look(self) -> None:
        """Something changed: look at it after what is being done now."""
        if self._soon is None:
            self._soon = self.keeper.loop.call_soon(self._look)

    def detach(self) -> None:
        if self._leased.owner is not self:
            return
        self._leased.look = nobody
        self._leased.owner = None
        self._leased.until = -math.inf
        self._resource.limit = 0
        for each in (self._soon, self._timer):
            if each is not None:
                each.cancel()
        for fan_out in list(self.users.values()):  # of another run, with the same `Caps`
            fan_out.take_over()

    def told(self, due: Due) -> None:
        """Others want more, or less. What is to be given back is not used again, from now on."""
        self._due = due
        self._has_news = True
        self._ledger.lease(self._resource, min(self._held, due.allowed), self._leased.until)
        dispatcher_of(self._ledger).pump()
        self.look()

    def answered(self, lease: Lease | Exception) -> None:
        now, began = self.keeper.loop.time(), self._asked_at
        self._asked_at = None
        if self._leased.owner is not self or began is None:
            return  # it was detached meanwhile
        if isinstance(lease, Exception):
            self._failed(lease, now)
            return
        self._due, self._failing_since = lease.due, None
        self._held = lease.held
        usable = min(lease.held, lease.due.allowed)
        self._ledger.lease(self._resource, usable, began + SAFE * lease.lasts_s)
        starved = self._told_demand > lease.held
        self._renew_at = began + min(RENEW * lease.lasts_s, STARVED_S if starved else IDLE_S)
        dispatcher_of(self._ledger).pump()
        self._look()

    def _failed(self, error: Exception, now: float) -> None:
        """Try again for a while. When the lease has run out, nothing starts meanwhile."""
        if self._failing_since is None:
            self._failing_since = now
        never = self._leased.until == -math.inf
        may_pass = isinstance(error, JournalError) and not never
        if may_pass and now - self._failing_since < PATIENCE_S:
            self._renew_at = now + TRY_AGAIN_S
            self._wait_until(self._renew_at)
            return
        for fan_out in list(self.users.values()):
            fan_out.abort(error)

    def _look(self) -> None:
        self._soon = None
        if self._asked_at is not None or self._leased.owner is not self:
            return
        now, held = self.keeper.loop.time(), self._held
        demand, unit = self._ledger.demand(self._resource)
        expired = now >= self._leased.until
        keep = self._resource.in_use if expired else self._kept(held, demand, now)
        wants = demand > held and (demand > self._told_demand or self._has_news)
        if not (keep < held or wants or now >= self._renew_at):
            self._wait_until(self._renew_at)
            return
        self._has_news = False
        self._told_demand = demand
        self._asked_at = now
        self._held = keep
        self._resource.limit = min(keep, self._resource.limit or 0)
        self.exchanges += 1
        offer = Offer(self._resource.most or 0, keep, self._resource.in_use, demand, unit)
        name, holder = self.name, self.holder
        self.keeper.perform(lambda book: book.exchange(name, holder, offer), self.answered)

    def _kept(self, held: int, demand: int, now: float) -> int:
        """How many permits to keep: not those that others should have, or could use at once."""
        in_use = self._resource.in_use
        keep = max(in_use, min(held, self._due.allowed))
        if not self._due.contended or demand >= keep:
            self._dip_since = None
            return keep
        if self._dip_since is None:
            self._dip_since = now
        if now - self._dip_since >= DIP_S:
            return demand
        self._wait_until(self._dip_since + DIP_S)
        return keep

    def _wait_until(self, then: float) -> None:
        if self._timer is not None:
            if self._timer.when() <= then and not self._timer.cancelled():
                return
            self._timer.cancel()
        self._timer = self.keeper.loop.call_at(then, self._time_is_up)

    def _time_is_up(self) -> None:
        self._timer = None
        self._look()


def _released(share: SharedPermits, book: LeaseBook) -> None:
    with contextlib.suppress(Exception):  # then it runs out
        book.release(share.name, share.holder)


class SharedCapUser:
    """A fan-out that uses shared limits: its run renews leases, and asks for rates and budgets."""

    def __init__(
        self,
        ledger: Ledger,
        budgets: Budgets,
        keeper: Callable[[], LeaseKeeper | None],
        abort: Callable[[BaseException], None],
    ) -> None:
        self.abort = abort
        self._ledger = ledger
        self._budgets = budgets
        self._keeper = keeper
        self._using: list[SharedPermits | SharedAmount] = []
        self.take_over()

    def take_over(self) -> None:
        """See that somebody renews the leases: a run that did may have ended."""
        self.leave()
        for resource in self._ledger.resources.values():
            if resource.leased is not None:
                permits = self._at_hand(f"cap {resource.name!r}").permits(self._ledger, resource)
                self._use(permits)
            for bucket in resource.buckets:
                if isinstance(bucket, SharedBucket):
                    self._use(self._rate(resource, bucket))
        for budget in self._budgets.shared:
            self._use(self._money(budget))

    def _rate(self, resource: Resource, bucket: SharedBucket) -> SharedAmount:
        keeper, found = self._at_hand(f"the rate of {resource.name!r}"), bucket.owner
        if not isinstance(found, SharedRate) or found.keeper.loop is not keeper.loop:
            found = SharedRate(keeper, self._ledger, resource, bucket)
            keeper.amounts.append(found)
        return found

    def _money(self, budget: Budget) -> SharedAmount:
        assert budget.share is not None
        keeper, found = self._at_hand("the budget"), budget.share.owner
        if not isinstance(found, SharedMoney) or found.keeper.loop is not keeper.loop:
            found = SharedMoney(keeper, budget)
            keeper.amounts.append(found)
        return found

    def _use(self, found: SharedPermits | SharedAmount) -> None:
        found.users[self] = self
        self._using.append(found)
        if isinstance(found, SharedAmount):
            found.look()

    def _at_hand(self, what: str) -> LeaseKeeper:
        keeper = self._keeper()
        if keeper is None:
            raise UsageError(
                f"{what} is shared, but there is no journal to share it by",
                "Give a durable run: run=open_run(…), or an id",
            )
        return keeper

    def leave(self) -> None:
        for found in self._using:
            found.users.pop(self, None)
            if isinstance(found, SharedAmount) and not found.users:
                found.look()
        self._using.clear()
