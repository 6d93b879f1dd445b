"""Waiting for permits: tickets stand in lines, and lines belong to groups.

A line holds the tickets of one group (a fan-out) with the same needs. Only the first ticket of a
line can be next, so the cost of a decision grows with the number of different needs, not with the
number of waiting items.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

from fanwise.core.resource import Resource

Preference = Literal["longest", "order"]
ResolvedNeeds = tuple[tuple[Resource, int], ...]


class Group:
    """The lines of one fan-out, or of all calls."""

    __slots__ = ("lines", "prefer", "waiting")

    def __init__(self, prefer: Preference = "order") -> None:
        self.prefer = prefer
        self.lines: dict[ResolvedNeeds, TicketLine] = {}
        self.waiting = 0

    def line(self, needs: ResolvedNeeds) -> TicketLine:
        """The line for these needs; made if there is none."""
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
        """Whether its tickets need this resource."""
        for needed, _ in self.needs:  # noqa: SIM110 - a generator costs three times as much
            if needed is resource:
                return True
        return False

    def head(self) -> Ticket | None:
        """The first ticket that still waits."""
        while self.tickets and self.tickets[0].state != "waiting":
            self.tickets.popleft()
        return self.tickets[0] if self.tickets else None

    def remaining(self, mean_s: float) -> float:
        """Estimated time until the line is empty, if tickets go on taking as long as they did."""
        mean = self.ran_s / self.ran if self.ran else mean_s
        width = min((r.limit / units for r, units in self.needs[1:] if r.limit), default=1.0)
        return len(self.tickets) * mean / width


class Ticket:
    """A request for permits: of an item, for all its attempts, or of a call.

    The kernel's items and calls are subclasses.
    """

    __slots__ = ("group", "needs", "order", "paid", "state", "taken_at", "tokens", "tried")

    def __init__(self, group: Group, needs: ResolvedNeeds, order: int, tokens: float = 0.0) -> None:
        self.group = group
        self.needs = needs
        self.order = order
        self.tokens = tokens
        """The most tokens that it may use."""
        self.paid = 0.0
        """Tokens that the rates were charged with when it was granted."""
        self.state: Literal["new", "waiting", "held", "over"] = "new"
        self.taken_at = 0.0
        self.tried = False
        """Whether it had an attempt and asks for another."""
