"""Who holds which permits, and who goes next.

One ledger serves every fan-out and call that shares its caps, so that a permit given back by one
reaches whoever can use it. The rejected alternative, a semaphore per cap acquired one after the
other, holds the first while it waits for the second (head-of-line blocking) and can deadlock.

Waiters stand in *lines*: tickets of one group (a fan-out) with the same needs. Only the head of a
line can be next, so the cost of a decision grows with the number of different needs, never with
the number of waiting items. Between groups the turn goes round; within a group the line with the
longest remaining work goes first (or, where order matters, the lowest item).

A ticket that fits is granted at once, even if a larger one has waited longer: no permit is ever
idle while somebody could use it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Literal

from fanwise.core.rate import Adaptation, Bucket, Expectation, Pace
from fanwise.errors import ImpossibleNeeds, NestedCap

Preference = Literal["longest", "order"]


class Resource:
    """One named cap: permits in use, its limit now, its rates, and the groups that wait."""

    __slots__ = (
        "adaptation",
        "buckets",
        "in_use",
        "limit",
        "most",
        "name",
        "pace",
        "paused_until",
        "peak",
        "waiting",
    )

    def __init__(self, name: str, limit: int | None = None) -> None:
        self.name = name
        self.limit = limit
        self.most = limit
        self.in_use = 0
        self.peak = 0
        self.buckets: list[Bucket] = []
        self.adaptation: Adaptation | None = None
        self.pace: Pace | None = None
        self.paused_until: float | None = None
        self.waiting: dict[Group, None] = {}  # a dict for its order: the turn goes round

    def fits(self, units: int, tokens: float, now: float) -> bool:
        """Whether this much is there now."""
        if self.buckets or self.paused_until is not None or self.adaptation is not None:
            return self.wait(units, tokens, now) == 0.0
        return self.limit is None or self.in_use + units <= self.limit

    def wait(self, units: int, tokens: float, now: float) -> float | None:
        """Seconds until this much is there; 0.0: now; None: not before a permit comes back."""
        full = self.limit is not None and self.in_use + units > self.limit
        # An adaptive cap that fell below a need still lets it go when alone.
        if full and not (self.adaptation and self.in_use == 0):
            return None
        longest = 0.0
        if self.paused_until is not None:
            longest = max(0.0, self.paused_until - now)
        for bucket in self.buckets:
            longest = max(longest, bucket.wait(bucket.amount(tokens), now))
        return longest

    def take(self, units: int, tokens: float, now: float) -> None:
        """Take permits and pay the rates."""
        if self.pace is not None:
            self.pace.sent(now, idle=not self.in_use and not self.awaited)
        self.in_use += units
        if self.in_use > self.peak:
            self.peak = self.in_use
        for bucket in self.buckets:
            bucket.take(bucket.amount(tokens), now)

    def hold_back(self, sent_at: float, retry_after: float, now: float) -> None:
        """Nobody goes for as long as was asked for; from then on, at the pace that is allowed."""
        until = now + retry_after
        self.paused_until = max(self.paused_until or until, until)
        if self.pace is None or until == math.inf:
            return
        unknown = self.pace.bucket is None
        self.pace.refused(sent_at, retry_after, now)
        if unknown and self.pace.bucket is not None:
            self.buckets.append(self.pace.bucket)  # paid like any other rate

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for it."""
        return any(group.waiting for group in self.waiting)


Wanted = tuple[tuple[Resource, int], ...]


class Group:
    """The lines of one fan-out (or of the calls inside it)."""

    __slots__ = ("lines", "prefer", "waiting")

    def __init__(self, prefer: Preference = "order") -> None:
        self.prefer = prefer
        self.lines: dict[Wanted, Line] = {}
        self.waiting = 0

    def line(self, needs: Wanted) -> Line:
        """The line for these needs."""
        found = self.lines.get(needs)
        if found is None:
            found = self.lines[needs] = Line(needs)
        return found


class Line:
    """Tickets of one group with the same needs, first come first served."""

    __slots__ = ("needs", "ran", "ran_s", "tickets")

    def __init__(self, needs: Wanted) -> None:
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
    """One wish for permits: of an item's attempt, or of a call."""

    __slots__ = ("group", "needs", "order", "paid", "state", "tag", "taken_at", "tokens")

    def __init__(
        self, group: Group, needs: Wanted, order: int, tag: object = None, tokens: float = 0.0
    ) -> None:
        self.group = group
        self.needs = needs
        self.order = order
        self.tag = tag
        self.tokens = tokens
        """The most that it may use."""
        self.paid = 0.0
        """Tokens that it took from the rates when it went."""
        self.state: Literal["new", "waiting", "held", "over"] = "new"
        self.taken_at = 0.0


class Ledger:
    """All permits of a `Caps`, and everyone who waits for them."""

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self.resources = {r.name: r for r in resources}
        self.moves: list[tuple[str, int, int, str]] = []
        """Adaptive caps that moved: name, from, to, why. Whoever reports them empties the list."""
        self.calls = Group("order")
        """The group of all single calls: first come, first served."""
        self.driver: object = None
        """Whoever grants its tickets, for all who share it: the kernel's dispatcher."""
        self._order = 0
        self._freed: dict[Resource, None] = {}
        self._timed: dict[Resource, None] = {}
        self._inside: dict[str, set[Cap]] = {}
        self._expected: dict[Wanted, Expectation] = {}

    def next_order(self) -> int:
        """1, 2, 3 …: the order in which calls came."""
        self._order += 1
        return self._order

    # -- asking ---------------------------------------------------------------------------------

    def request(self, ticket: Ticket, now: float) -> bool:
        """Take the permits now (True), or stand in line (False)."""
        if self._fits(ticket, now):
            self._take(ticket, now)
            return True
        self._enqueue(ticket)
        return False

    def release(self, ticket: Ticket, ran_s: float) -> None:
        """Give the permits back. `grants` then says who goes next."""
        ticket.state = "over"
        # The fan-out's own cap comes last: asked first, it would always favour its own items.
        for resource, units in reversed(ticket.needs):
            resource.in_use -= units
            if resource.waiting:
                self._freed[resource] = None
        if ticket.group.lines:
            line = ticket.group.lines.get(ticket.needs)
            if line is not None:
                line.ran += 1
                line.ran_s += ran_s

    def hand_back(self, ticket: Ticket, now: float) -> None:
        """Give back permits that were not used, and what they took from the rates."""
        self.release(ticket, 0.0)
        for resource, _ in ticket.needs:
            if resource.pace is not None:
                resource.pace.not_let()
            for bucket in resource.buckets:
                bucket.take(-bucket.amount(ticket.paid), now)

    @property
    def restless(self) -> bool:
        """`grants` or `wake_at` may have something to say."""
        return bool(self._freed or self._timed)

    @property
    def idle(self) -> bool:
        """Nobody holds a permit and nobody waits."""
        return not any(r.in_use or r.waiting for r in self.resources.values())

    def withdraw(self, ticket: Ticket) -> None:
        """Leave the line."""
        if ticket.state == "waiting":
            ticket.state = "over"
            ticket.group.waiting -= 1

    def grants(self, now: float) -> list[Ticket]:
        """Everyone who can go now, with their permits taken."""
        granted: list[Ticket] = []
        if not self._freed and not self._timed:
            return granted
        self._freed.update(self._timed)
        while self._freed:
            resource = next(iter(self._freed))
            del self._freed[resource]
            while (ticket := self._next(resource, now)) is not None:
                granted.append(ticket)
        return granted

    def wake_at(self, now: float) -> float | None:
        """When to ask for `grants` again although nothing comes back: a rate refills."""
        soonest: float | None = None
        for resource in list(self._timed):
            if not any(group.waiting for group in resource.waiting):
                del self._timed[resource]
                continue
            wait = self._soonest(resource, now)
            if wait is not None and (soonest is None or wait < soonest):
                soonest = wait
        return None if soonest is None else now + soonest

    # -- what the other side says ---------------------------------------------------------------

    def refused(self, ticket: Ticket, retry_after: float | None, now: float) -> None:
        """A "too many requests": adaptive caps shrink, wait as long as was asked, and slow down."""
        for resource, _ in ticket.needs:
            if resource.adaptation is None or resource.limit is None:
                continue
            if retry_after and retry_after > 0:
                resource.hold_back(ticket.taken_at, retry_after, now)
                if resource.waiting:
                    self._timed[resource] = None
            elif resource.pace is not None:
                resource.pace.not_let()
            new = resource.adaptation.refused(resource.limit, ticket.taken_at, now)
            self._move(resource, new, "refused")

    def accepted(self, ticket: Ticket, now: float) -> None:
        """It went well: an adaptive cap that is full may grow. Call it before `release`."""
        for resource, _ in ticket.needs:
            if resource.adaptation is None or resource.limit is None:
                continue
            full = resource.in_use >= resource.limit
            if resource.pace is not None:
                resource.pace.accepted(now, busy=full or resource.awaited)
            new = resource.adaptation.accepted(resource.limit, saturated=full)
            self._move(resource, new, "saturated")

    def settle(self, ticket: Ticket, tokens: float, now: float, *, whole: bool = True) -> None:
        """The true number of tokens, after what was expected was paid.

        Not `whole`: it was refused or broke off, which says nothing of what others will use.
        """
        for resource, _ in ticket.needs:
            for bucket in resource.buckets:
                if bucket.counts_tokens:
                    bucket.take(tokens - ticket.paid, now)
        if ticket.tokens and whole:
            self._expected.setdefault(ticket.needs, Expectation()).learn(ticket.tokens, tokens)

    # -- needs ----------------------------------------------------------------------------------

    def resolve(self, needs: Mapping[str, int], total: Resource | None = None) -> Wanted:
        """Names as resources, the fan-out's own cap first. `ImpossibleNeeds` if never enough."""
        found = [(self.resources[name], units) for name, units in sorted(needs.items())]
        for resource, units in found:
            if resource.most is not None and units > resource.most:
                raise ImpossibleNeeds(resource.name, units, resource.most)
        return ((total, 1), *found) if total is not None else tuple(found)

    def check_nesting(self, needs: Iterable[str], held: Iterable[Cap]) -> None:
        """Refuse to wait for a cap while holding it, or in the opposite order of somebody else.

        The order in which caps are nested is remembered, so that the error does not depend on
        timing: it comes the first time, not the day that two items meet.
        """
        held = set(held)
        for name in needs:
            cap = (self, name)
            if cap in held or held & _reachable(cap):
                raise NestedCap(name, [outer for _, outer in held])
            for owner, outer in held:
                owner._inside.setdefault(outer, set()).add(cap)

    # -- inside ---------------------------------------------------------------------------------

    def _fits(self, ticket: Ticket, now: float) -> bool:
        tokens = self._tokens(ticket)
        for resource, units in ticket.needs:  # noqa: SIM110 - a generator costs as much again
            if not resource.fits(units, tokens, now):
                return False
        return True

    def _tokens(self, ticket: Ticket) -> float:
        """What it is expected to use, as far as is known now."""
        if not ticket.tokens:
            return 0.0
        expected = self._expected.get(ticket.needs)
        return ticket.tokens if expected is None else ticket.tokens * expected.share

    def _take(self, ticket: Ticket, now: float) -> None:
        ticket.state = "held"
        ticket.taken_at = now
        ticket.paid = self._tokens(ticket)
        for resource, units in ticket.needs:
            resource.take(units, ticket.paid, now)

    def _enqueue(self, ticket: Ticket) -> None:
        ticket.state = "waiting"
        group = ticket.group
        group.waiting += 1
        group.line(ticket.needs).tickets.append(ticket)
        for resource, _ in ticket.needs:
            resource.waiting[group] = None
            if resource.buckets or resource.paused_until is not None:
                self._timed[resource] = None

    def _next(self, resource: Resource, now: float) -> Ticket | None:
        """Grant one ticket that needs this resource, if any fits."""
        if resource.limit is not None and 0 < resource.limit <= resource.in_use:
            return None
        gone: list[Group] = []
        chosen: Ticket | None = None
        for group in resource.waiting:
            if not group.waiting:
                gone.append(group)
                continue
            chosen = self._best(group, resource, now)
            if chosen is not None:
                break
        for group in gone:
            del resource.waiting[group]
        if chosen is not None:
            self._leave_line(chosen, resource)
            self._take(chosen, now)
        return chosen

    def _leave_line(self, ticket: Ticket, resource: Resource) -> None:
        group = ticket.group
        del resource.waiting[group]
        if group.waiting > 1:
            resource.waiting[group] = None  # to the end: the turn goes round
        group.lines[ticket.needs].tickets.popleft()
        group.waiting -= 1

    def _best(self, group: Group, resource: Resource, now: float) -> Ticket | None:
        fitting: list[tuple[Line, Ticket]] = []
        for line in group.lines.values():
            if not line.tickets or not line.wants(resource):
                continue
            head = line.head()
            if head is None:
                continue
            if self._fits(head, now):
                fitting.append((line, head))
        if not fitting:
            return None
        if len(fitting) == 1 or group.prefer == "order":
            return min(fitting, key=lambda pair: pair[1].order)[1]
        ran = sum(line.ran for line in group.lines.values())
        mean = sum(line.ran_s for line in group.lines.values()) / ran if ran else 1.0
        return max(fitting, key=lambda pair: (pair[0].remaining(mean), -pair[1].order))[1]

    def _soonest(self, resource: Resource, now: float) -> float | None:
        """The least wait of a head that only time holds back, if there is one."""
        waits: list[float] = []
        for group in resource.waiting:
            for line in group.lines.values():
                if not line.wants(resource):
                    continue  # it waits for others, and those say when
                head = line.head()
                if head is None:
                    continue
                tokens = self._tokens(head)
                each = [r.wait(u, tokens, now) for r, u in line.needs]
                known = [wait for wait in each if wait is not None]
                if len(known) == len(each):
                    waits.append(max(known))
        return min(waits, default=None)

    def _move(self, resource: Resource, new: int, why: str) -> None:
        old = resource.limit
        if old is None or new == old:
            return
        resource.limit = new
        self.moves.append((resource.name, old, new, why))
        if new > old and resource.waiting:
            self._freed[resource] = None


Cap = tuple[Ledger, str]
"""A cap by its name and the ledger that has it."""


def _reachable(cap: Cap) -> set[Cap]:
    """The caps that were ever waited for while holding this one, and inside those."""
    found: set[Cap] = set()
    todo = [cap]
    while todo:
        ledger, name = todo.pop()
        for inner in ledger._inside.get(name, ()):
            if inner not in found:
                found.add(inner)
                todo.append(inner)
    return found
