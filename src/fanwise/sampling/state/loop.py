"""Which sample is made next, and which one wins: a state machine without any I/O.

`concurrency_budget` chains, each at most `loop_budget` samples deep, make a table of slots. A chain
works through its own row, one sample after the other. A chain that dies of an error leaves the rest
of its row to the others, who take it over when they have used up their own. So every slot is used
unless a sample wins first, and no two samples have the same id.

With `winner="first"` the order is by iteration, then by chain: the winner is known as soon as all
samples before it are, and is the same whatever finished first. Slots that dead chains left are
handed out in rounds then, when all chains wait: who gets one must not depend on speed either.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

import msgspec

from fanwise.core.caps import whole

Winner = Literal["fastest", "first"]


class SampleSlot(msgspec.Struct, frozen=True):
    """One sample to be made: by which chain, at which depth, under which id."""

    chain: int
    iteration: int
    id: int

    @property
    def order(self) -> tuple[int, int]:
        return self.iteration, self.chain


class Loop:
    """Takes the result of each sample and says which samples to make next."""

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
        self._active: dict[int, SampleSlot] = {}
        self._parked: dict[int, int] = {}
        """Chains that have used up their own slots: the iteration that would be next."""
        self._left: deque[int] = deque()
        """Ids of the slots that dead chains left."""
        self._best: SampleSlot | None = None

    def begin(self) -> list[SampleSlot]:
        return [self._start(chain, 0, self._id(chain, 0)) for chain in range(self._width)]

    def valid(self, slot: SampleSlot) -> list[SampleSlot]:
        """The sample is valid, so its chain has finished."""
        del self._active[slot.chain]
        if not self._gathers and (self._best is None or slot.order < self._best.order):
            self._best = slot
        return self._hand_out()

    def invalid(self, slot: SampleSlot) -> list[SampleSlot]:
        """The sample is not valid; its chain goes on if there is a slot for it."""
        del self._active[slot.chain]
        following = slot.iteration + 1
        if following < self._depth:
            return self._go_on(slot.chain, following)
        self._parked[slot.chain] = following
        return self._hand_out()

    def died(self, slot: SampleSlot) -> list[SampleSlot]:
        """An error ended the chain: the others get the slots that it had not used."""
        del self._active[slot.chain]
        unused = range(slot.iteration + 1, self._depth)
        self._left.extend(self._id(slot.chain, iteration) for iteration in unused)
        return self._hand_out()

    @property
    def winner(self) -> SampleSlot | None:
        """The sample that has won; no other can come before it."""
        if self._best is None:
            return None
        if self._ordered and any(each.order < self._best.order for each in self._active.values()):
            return None
        return self._best

    @property
    def left(self) -> int:
        """How many valid samples may still come, at most."""
        return len(self._active) + len(self._parked)

    @property
    def is_ordered(self) -> bool:
        return self._ordered

    @property
    def over(self) -> bool:
        """Whether there is nothing left to wait for."""
        return self.winner is not None or not self._active

    def _go_on(self, chain: int, iteration: int) -> list[SampleSlot]:
        slot = SampleSlot(chain, iteration, self._id(chain, iteration))
        if self._best is not None and slot.order > self._best.order:
            return []  # it could not win any more
        self._active[chain] = slot
        return [slot]

    def _hand_out(self) -> list[SampleSlot]:
        if self._best is not None or (self._ordered and self._active):
            return []
        slots = []
        for chain in sorted(self._parked, key=lambda each: (self._parked[each], each)):
            if not self._left:
                break
            slots.append(self._start(chain, self._parked.pop(chain), self._left.popleft()))
        return slots

    def _start(self, chain: int, iteration: int, id_: int) -> SampleSlot:
        slot = self._active[chain] = SampleSlot(chain, iteration, id_)
        return slot

    def _id(self, chain: int, iteration: int) -> int:
        return chain * self._depth + iteration + 1
