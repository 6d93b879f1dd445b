"""Which sample is made next, and which one wins: the loop as a state machine, without any I/O.

`concurrency_budget` chains, each at most `loop_budget` samples deep, make a table of places. A
chain works through its own row, one sample after the other. A chain that dies of an error leaves
the rest of its row to the others: they go on with it when they have used up their own. So every
place is used unless a sample wins first, and no two samples have the same id.

With `winner="first"` the order is by iteration, then by chain: the winner is known as soon as all
samples before it are, and is the same whatever finished first. Places that the dead left are
handed out in rounds then, when all chains wait: who gets one must not depend on speed either.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

import msgspec

from fanwise.core.caps import whole

Winner = Literal["fastest", "first"]


class Place(msgspec.Struct, frozen=True):
    """One sample to be made: by which chain, at which depth, under which id."""

    chain: int
    iteration: int
    id: int

    @property
    def order(self) -> tuple[int, int]:
        """By depth, then by chain."""
        return self.iteration, self.chain


class Loop:
    """Told what became of each sample, it says which ones to make next."""

    def __init__(
        self,
        loop_budget: int,
        concurrency_budget: int,
        *,
        winner: Winner = "fastest",
        gathers: bool = False,
    ) -> None:
        whole("loop_budget", loop_budget)
        whole("concurrency_budget", concurrency_budget)
        self._depth = loop_budget
        self._width = concurrency_budget
        self._ordered = winner == "first"
        self._gathers = gathers
        """Every chain goes on until it has a valid sample; nobody wins."""
        self._active: dict[int, Place] = {}
        self._parked: dict[int, int] = {}
        """Chains that have used up their own places: the iteration that would be next."""
        self._left: deque[int] = deque()
        """Ids that chains left behind when they died."""
        self._best: Place | None = None

    def begin(self) -> list[Place]:
        """The first sample of each chain."""
        return [self._start(chain, 0, self._id(chain, 0)) for chain in range(self._width)]

    def valid(self, place: Place) -> list[Place]:
        """This sample is valid: its chain has done its work."""
        del self._active[place.chain]
        if not self._gathers and (self._best is None or place.order < self._best.order):
            self._best = place
        return self._hand_out()

    def invalid(self, place: Place) -> list[Place]:
        """This one is not: its chain goes on, if there is a place for it."""
        del self._active[place.chain]
        following = place.iteration + 1
        if following < self._depth:
            return self._go_on(place.chain, following)
        self._parked[place.chain] = following
        return self._hand_out()

    def died(self, place: Place) -> list[Place]:
        """An error ended the chain: what it had not used is for the others."""
        del self._active[place.chain]
        unused = range(place.iteration + 1, self._depth)
        self._left.extend(self._id(place.chain, iteration) for iteration in unused)
        return self._hand_out()

    @property
    def winner(self) -> Place | None:
        """The sample that has won: no other can come before it any more."""
        if self._best is None:
            return None
        if self._ordered and any(p.order < self._best.order for p in self._active.values()):
            return None
        return self._best

    @property
    def over(self) -> bool:
        """Whether there is nothing left to wait for."""
        return self.winner is not None or not self._active

    def _go_on(self, chain: int, iteration: int) -> list[Place]:
        place = Place(chain, iteration, self._id(chain, iteration))
        if self._best is not None and place.order > self._best.order:
            return []  # it could not win any more
        self._active[chain] = place
        return [place]

    def _hand_out(self) -> list[Place]:
        if self._best is not None or (self._ordered and self._active):
            return []
        places = []
        for chain in sorted(self._parked, key=lambda each: (self._parked[each], each)):
            if not self._left:
                break
            places.append(self._start(chain, self._parked.pop(chain), self._left.popleft()))
        return places

    def _start(self, chain: int, iteration: int, id_: int) -> Place:
        place = self._active[chain] = Place(chain, iteration, id_)
        return place

    def _id(self, chain: int, iteration: int) -> int:
        return chain * self._depth + iteration + 1
