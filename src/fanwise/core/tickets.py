"""Those who wait for permits: tickets, in lines, in groups.

A line has the tickets of one group (a fan-out) with the same needs. Only the head of a line can
be next, so the cost of a decision grows with the number of different needs, never with the number
of waiting items.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

from fanwise.core.resource import Resource

Preference = Literal["longest", "order"]
ResolvedNeeds = tuple[tuple[Resource, int], ...]


class Group:
    """The lines of one fan-out (or of the calls inside it)."""

    __slots__ = ("lines", "prefer", "waiting")

    def __init__(self, prefer: Preference = "order") -> None:
        self.prefer = prefer
        self.lines: dict[ResolvedNeeds, TicketLine] = {}
        self.waiting = 0

    def line(self, needs: ResolvedNeeds) -> TicketLine:
        """The line for these needs."""
        found = self.lines.get(needs)
        if found is None:
            found = self.lines[needs] = TicketLine(needs)
        return found


class TicketLine:
    """Tickets of one group with the same needs, first come first served."""

    __slots__ = ("needs", "ran", "ran_s", "tickets")

    def __init__(self, needs: ResolvedNeeds) -> None:
        self.needs = needs
        self.tickets: deque[Ticket] = deque()
        self.ran = 0
        self.ran_s = 0.0

    def wants(self, resource: Resource) -> bool:
        """Whether its tickets need this one."""
        for needed, _ in self.needs:  # noqa: SIM110 - a generator costs three times as much
            if needed is resource:
                return True
        return False

    def head(self) -> Ticket | None:
        """The first that still waits."""
        while self.tickets and self.tickets[0].state != "waiting":
            self.tickets.popleft()
        return self.tickets[0] if self.tickets else None

    def remaining(self, mean_s: float) -> float:
        """Estimated time until this line is empty: what is left, times how long these take."""
        mean = self.ran_s / self.ran if self.ran else mean_s
        width = min((r.limit / units for r, units in self.needs[1:] if r.limit), default=1.0)
        return len(self.tickets) * mean / width


class Ticket:
    """One wish for permits: of an item, for one attempt after the other, or of a call.

    Whoever waits is a ticket: the kernel's items and calls are subclasses.
    """

    __slots__ = ("group", "needs", "order", "paid", "state", "taken_at", "tokens", "tried")

    def __init__(self, group: Group, needs: ResolvedNeeds, order: int, tokens: float = 0.0) -> None:
        self.group = group
        self.needs = needs
        self.order = order
        self.tokens = tokens
        """The most that it may use."""
        self.paid = 0.0
        """Tokens that it took from the rates when it went."""
        self.state: Literal["new", "waiting", "held", "over"] = "new"
        self.taken_at = 0.0
        self.tried = False
        """It had an attempt, and wants another."""
