"""Rates and budgets that several processes share: what their book keeps, and what it grants. Pure.

A rate is a bucket in the book. A process takes a block of it for those who wait, which may leave a
debt: then it waits until the debt is paid. So who asked first goes first, and nobody polls.

A budget is what all have spent on this day, and what each process may still spend. A process that
is not heard of in time counts as if it had spent all of that: nobody else can know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec

from fanwise.core.rate import Bucket
from fanwise.core.shares import nobody

_EPSILON = 1e-9
_BLOCK = 1 / 4
"""Of a burst: what a process takes at once, at most."""
DAY_S = 86_400.0


class SharedBucket(Bucket):
    """This process's part of a shared rate: what it took out of the book, and not used yet."""

    __slots__ = ("look", "name", "owner", "wanted")

    def __init__(self, name: str, whole: Bucket) -> None:
        super().__init__(whole.burst, whole.refill, counts_tokens=whole.counts_tokens)
        self.level = 0.0
        self.name = f"rate:{name}:{'tokens' if whole.counts_tokens else 'requests'}"
        self.wanted = 0.0
        """The most that one of those who wait lacks."""
        self.look: Callable[[], None] = nobody
        self.owner: object = None

    def wait(self, amount: float, now: float) -> float:
        """0.0, or infinite: until the book has granted more."""
        missing = amount - self.level
        if missing <= _EPSILON:
            return 0.0
        self.wanted = max(self.wanted, missing)
        self.look()
        return math.inf

    def take(self, amount: float, now: float) -> None:
        self.level -= amount
        if amount < 0 or self.level < 0:
            self.look()

    def block(self, waiting: int) -> float:
        """What to take out of the book for so many who wait; below 0: what to give back."""
        if waiting and self.wanted:
            return max(self.wanted, min(self.wanted * waiting, self.burst * _BLOCK))
        return -self.level if self.level < 0 or not waiting else 0.0


class BucketState(msgspec.Struct):
    """A shared rate, in the book."""

    level: float
    seen_at: float


def take_block(
    state: BucketState | None, burst: float, refill: float, amount: float, now: float
) -> tuple[BucketState, float]:
    """Take this much out of a shared rate, and say in how many seconds it may be used."""
    before = BucketState(burst, now) if state is None else state
    level = min(burst, before.level + max(0.0, now - before.seen_at) * refill)
    missing = min(amount, burst) - level
    level = min(burst, level - amount)
    return BucketState(level, max(now, before.seen_at)), max(0.0, missing / refill)


class OpenGrant(msgspec.Struct):
    """What one process may still spend."""

    amounts: dict[str, float]
    until: float


class BudgetState(msgspec.Struct):
    """A shared budget, in the book."""

    day: int
    spent: dict[str, float] = {}
    grants: dict[str, OpenGrant] = {}
    """By holder."""


class BudgetOffer(msgspec.Struct, frozen=True):
    """What a process tells the book of a shared budget."""

    holder: str
    limits: Mapping[str, float]
    spent: Mapping[str, float]
    """Since it told before."""
    reserved: Mapping[str, float]
    least: Mapping[str, float]
    """What it has reserved, and the first of those who wait: with less it can do nothing more."""
    wanted: Mapping[str, float]
    """What it could use from now on, what it has reserved included."""
    lasts_s: float = 15.0


def grant(
    state: BudgetState | None, offer: BudgetOffer, now: float
) -> tuple[BudgetState, tuple[dict[str, float], dict[str, float]]]:
    """The new state; what the process may spend from now on, and what all have spent today."""
    today = int(now // DAY_S)
    state = state or BudgetState(today)
    for holder, each in [*state.grants.items()]:
        if each.until <= now:  # it may have spent all of it
            del state.grants[holder]
            _add(state.spent, each.amounts)
    if state.day != today:
        state.day, state.spent = today, {}
    mine = state.grants.pop(offer.holder, None) or OpenGrant({}, 0.0)
    _add(state.spent, offer.spent)
    most: dict[str, float] = {}
    for kind, limit in offer.limits.items():
        had = mine.amounts.get(kind, 0.0) - offer.spent.get(kind, 0.0)
        others = sum(each.amounts.get(kind, 0.0) for each in state.grants.values())
        most[kind] = max(0.0, had, limit - state.spent.get(kind, 0.0) - others)
    enough = all(most[kind] >= offer.least[kind] - _EPSILON for kind in most)
    # Who can do nothing with a part of what it wants leaves it to others.
    wanted = offer.wanted if enough else offer.reserved
    granted = {kind: min(wanted[kind], most[kind]) for kind in most}
    if any(granted.values()):
        state.grants[offer.holder] = OpenGrant(granted, now + offer.lasts_s)
    return state, (granted, dict(state.spent))


def _add(to: dict[str, float], amounts: Mapping[str, float]) -> None:
    for kind, amount in amounts.items():
        to[kind] = to.get(kind, 0.0) + amount
