"""How a shared cap is divided among those who use it: runs in one process, or in many. Pure.

Each user holds a part of the cap and uses it without asking anybody. When it wants more, or others
want what it holds, it exchanges: it tells what it holds and what it could use, and gets what it may
hold from now on. Nobody is made to give back permits that are in use.

The division is fair by the least favoured: nobody gets more than it can use, and who wants more has
no less than anybody else. What cannot be divided evenly goes to those who were served least, so
that over time it is even. The alternative, a queue over all processes, was rejected: it costs a
round trip for each permit, and the permits of a dead process with its place in the queue.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence

import msgspec


class Holding(msgspec.Struct, frozen=True):
    """What one user has of a shared cap."""

    holder: str
    held: int
    """Permits that it may use."""
    demand: int = 0
    """Permits that it could use now: those in use, and those that are waited for."""
    unit: int = 1
    """The most permits that one of those who wait needs at once."""
    served: float = 0.0
    """Permits times seconds so far."""


class Leased:
    """What the ledger has to know of a shared cap: until when the permits that it holds are its.

    A process that was stopped for longer may find that others have them, so nothing starts then
    until the lease is renewed.
    """

    __slots__ = ("look", "name", "owner", "until")

    def __init__(self, name: str) -> None:
        self.name = name
        """The same in all processes that share it."""
        self.until = -math.inf
        self.look: Callable[[], None] = nobody
        """Called when somebody begins to wait, and when a permit comes back."""
        self.owner: object = None
        """What renews it, in the kernel; None: nobody does."""


def nobody() -> None: ...


class Due(msgspec.Struct, frozen=True):
    """What a user should know."""

    allowed: int
    """Hold no more than this: give back the rest as soon as it is not in use."""
    contended: bool
    """Others could use more than they hold, so give back what you cannot use."""


def exchange(most: int, mine: Holding, others: Iterable[Holding]) -> tuple[int, dict[str, Due]]:
    """How many permits `mine` may hold now, and what each user should know.

    It keeps what it holds, and gets what is free up to its share. More than `most` are held only
    where that was so before.
    """
    everyone = [mine, *others]
    shares = fair_shares(most, everyone)
    free = max(0, most - sum(each.held for each in everyone))
    granted = max(mine.held, min(shares[mine.holder], mine.held + free))
    held = {each.holder: each.held for each in everyone} | {mine.holder: granted}
    free -= granted - mine.held
    lacking = sum(max(0, shares[holder] - count) for holder, count in held.items())
    return granted, {
        each.holder: Due(
            shares[each.holder] if lacking > free else max(shares[each.holder], held[each.holder]),
            any(
                other.demand > held[other.holder]
                for other in everyone
                if other.holder != each.holder
            ),
        )
        for each in everyone
    }


def fair_shares(most: int, holdings: Sequence[Holding]) -> dict[str, int]:
    """How many permits each should have, by what they could use, in their units."""
    wants = {each.holder: -(-each.demand // each.unit) * each.unit for each in holdings}
    even = most // max(1, sum(want > 0 for want in wants.values()))
    shares = {
        each.holder: min(wants[each.holder], even // each.unit * each.unit) for each in holdings
    }
    left = most - sum(shares.values())
    queue = [(shares[each.holder], each.served, each.holder, each.unit) for each in holdings]
    heapq.heapify(queue)
    while queue and left:
        share, served, holder, unit = heapq.heappop(queue)
        if share < wants[holder] and unit <= left:
            shares[holder] = share + unit
            left -= unit
            heapq.heappush(queue, (share + unit, served, holder, unit))
    return shares
