"""Shared rates and budgets of this process: when it asks their book, and what it does with it.

`core/shared_amounts.py` decides; the thread of the `LeaseKeeper` talks to the book.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from fanwise.core.budget import Budget
from fanwise.core.ledger import Ledger
from fanwise.core.resource import Resource
from fanwise.core.shared_amounts import (
    BucketState,
    BudgetOffer,
    BudgetState,
    SharedBucket,
    grant,
    take_block,
)
from fanwise.core.shares import nobody
from fanwise.errors import JournalError
from fanwise.kernel.dispatch import dispatcher_of

if TYPE_CHECKING:
    from fanwise.journal.leases import LeaseBook
    from fanwise.kernel.shared_caps import LeaseKeeper, SharedCapUser

T = TypeVar("T")
Grant = tuple[dict[str, float], dict[str, float]]
"""What this process may spend, and what all have spent."""
TRY_AGAIN_S = 0.5
PATIENCE_S = 60.0
"""How long to wait for a server that went away."""
STARVED_S = 0.25
"""Whoever waits for what others may give back asks this often."""
LASTS_S = 15.0
SPARE = 0.01
"""The part of a budget that a process may hold beyond what it has reserved."""


class SharedAmount:
    """A rate or a budget that this process shares: one question at a time."""

    def __init__(self, keeper: LeaseKeeper, name: str) -> None:
        self.keeper = keeper
        self.name = name
        self.users: dict[object, SharedCapUser] = {}
        """The fan-outs that use it."""
        self.exchanges = 0
        self._asking = self._ended = False
        self._failing_since: float | None = None
        self._soon: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None

    def look(self) -> None:
        """Something changed: look at it after what is being done now."""
        if self._soon is None and not self._asking and not self._ended:
            self._soon = self.keeper.loop.call_soon(self._look)

    def detach(self) -> None:
        """Its run ends. Fan-outs of other runs with the same object go on with their own keeper."""
        self._ended = True
        for each in (self._soon, self._timer):
            if each is not None:
                each.cancel()
        self._unhook()
        for fan_out in list(self.users.values()):
            fan_out.take_over()

    def _unhook(self) -> None:
        raise NotImplementedError

    def last_word(self, book: LeaseBook) -> None:
        """In the thread, when everything has ended."""

    def _look(self) -> None:
        self._soon = None

    def _look_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.keeper.loop.call_later(seconds, self._look)

    def _ask(self, work: Callable[[LeaseBook], T], then: Callable[[T], None]) -> None:
        self._asking = True
        self.exchanges += 1

        def answered(found: Any) -> None:
            self._asking = False
            if self._ended:
                return
            if isinstance(found, Exception):
                self._failed(found)
            else:
                self._failing_since = None
                then(found)

        self.keeper.perform(work, answered)

    def _failed(self, error: Exception) -> None:
        now = self.keeper.loop.time()
        self._failing_since = since = self._failing_since or now
        if isinstance(error, JournalError) and self.exchanges > 1 and now - since < PATIENCE_S:
            self._look_in(TRY_AGAIN_S)
            return
        for fan_out in list(self.users.values()):
            fan_out.abort(error)


class SharedRate(SharedAmount):
    """A shared rate of a cap."""

    def __init__(
        self, keeper: LeaseKeeper, ledger: Ledger, resource: Resource, bucket: SharedBucket
    ) -> None:
        super().__init__(keeper, bucket.name)
        self._ledger = ledger
        self._resource = resource
        self._bucket = bucket
        bucket.look, bucket.owner = self.look, self

    def _unhook(self) -> None:
        if self._bucket.owner is self:
            self._bucket.look, self._bucket.owner = nobody, None

    def _look(self) -> None:
        self._soon = None
        if self._asking:
            return
        resource, bucket = self._resource, self._bucket
        amount = bucket.block(resource.wanted - resource.in_use)
        if amount <= 0:
            bucket.wanted = 0.0
        if not amount:
            return

        def change(kept: bytes | None, now: float) -> tuple[bytes, float]:
            state = None if kept is None else msgspec.json.decode(kept, type=BucketState)
            state, wait_s = take_block(state, bucket.burst, bucket.refill, amount, now)
            return msgspec.json.encode(state), wait_s

        self._ask(
            lambda book: book.update(self.name, change, lasting=False),
            lambda wait_s: self._taken(amount, wait_s),
        )

    def _taken(self, amount: float, wait_s: float) -> None:
        self._bucket.wanted = 0.0  # who still lacks something says so again
        if amount <= 0 or wait_s <= 0:
            self._use(amount)
            return
        self._asking = True  # nobody else asks meanwhile: what was taken is for the first
        self._timer = self.keeper.loop.call_later(wait_s, self._use, amount)

    def _use(self, amount: float) -> None:
        self._asking = False
        self._bucket.level += amount
        self._ledger.refilled(self._resource)
        dispatcher_of(self._ledger).pump()
        self.look()


class SharedMoney(SharedAmount):
    """A shared budget."""

    def __init__(self, keeper: LeaseKeeper, budget: Budget) -> None:
        assert budget.share is not None
        super().__init__(keeper, budget.share.name)
        self._budget = budget
        self._share = budget.share
        self._holder = uuid.uuid4().hex
        self._renew_at = 0.0
        self._last: BudgetOffer | None = None
        self._unheard: dict[str, float] = {}
        self._share.look, self._share.owner = self.look, self
        self._share.spent_by_all = {}  # of another day or book, maybe

    def _unhook(self) -> None:
        """What was not spent is given back, and what was spent is told once."""
        if self._share.owner is not self:
            return
        self._share.look, self._share.owner = nobody, None
        wanted = {kind: self._budget.reserved[kind] for kind in self._budget.limits}
        self._last = self._offer(wanted)
        self._share.tell(self._last.spent, wanted)

    def last_word(self, book: LeaseBook) -> None:
        if self._last is not None:
            self._exchange(book, self._last)

    def _exchange(self, book: LeaseBook, offer: BudgetOffer) -> Grant:
        """In the thread. What the book may not have heard is said again: better than never."""
        for kind, spent in offer.spent.items():
            self._unheard[kind] = self._unheard.get(kind, 0.0) + spent
        offer = msgspec.structs.replace(offer, spent=dict(self._unheard))

        def change(kept: bytes | None, now: float) -> tuple[bytes, Grant]:
            state = None if kept is None else msgspec.json.decode(kept, type=BudgetState)
            state, found = grant(state, offer, now)
            return msgspec.json.encode(state), found

        found = book.update(self.name, change, lasting=True)
        self._unheard.clear()
        return found

    def _look(self) -> None:
        self._soon = None
        budget, share, now = self._budget, self._share, self.keeper.loop.time()
        if self._asking or not (self.users or any(share.granted.values())):
            return
        spare = {kind: SPARE * limit for kind, limit in budget.limits.items()}
        much = any(share.untold[kind] > spare[kind] for kind in spare)
        if self.users and not (budget.awaited or much or now >= self._renew_at):
            return
        wanted = budget.wanted
        if self.users and any(wanted.values()):
            wanted = {kind: amount + spare[kind] for kind, amount in wanted.items()}
        offer = self._offer(wanted)
        share.tell(offer.spent, offer.reserved)
        self._ask(lambda book: self._exchange(book, offer), lambda found: self._granted(*found))

    def _offer(self, wanted: dict[str, float]) -> BudgetOffer:
        budget, told = self._budget, dict(self._share.untold)
        reserved = {kind: budget.reserved[kind] for kind in budget.limits}
        return BudgetOffer(
            self._holder, budget.limits, told, reserved, budget.least, wanted, LASTS_S
        )

    def _granted(self, granted: dict[str, float], spent: dict[str, float]) -> None:
        self._share.granted, self._share.spent_by_all = granted, spent
        self._renew_at = self.keeper.loop.time() + LASTS_S / 3
        for each in self._budget.worth_a_try():
            each.wake()
        self._look_in(STARVED_S if self._budget.awaited else LASTS_S / 3)
