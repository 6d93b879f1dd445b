"""Who holds which permits, and who gets the next one.

One ledger serves every fan-out and call that shares its caps, so a permit that one gives back can
go to any other. The alternative, one semaphore per cap acquired one after the other, was rejected:
it holds the first cap while it waits for the second (head-of-line blocking), and can deadlock.

Whoever waits is a ticket in a line (`tickets.py`). Groups take turns; within a group the line with
the most remaining work goes first or, where order matters, the lowest item.

A ticket that fits is granted at once, even if a larger one has waited longer, so no permit is idle
while somebody could use it. The exception is an exclusive cap (`turns.py`): there a ticket that
fits may have to let another go first, but only one that lacks nothing except permits of this cap.
Holders of that cap give it back without needing more of it, so this adds no deadlock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from itertools import count

from fanwise.core.rate import LONGEST_WAIT_S, Expectation
from fanwise.core.resource import Resource
from fanwise.core.tickets import Group, ResolvedNeeds, Ticket, TicketLine
from fanwise.errors import ImpossibleNeeds, NestedCap, UsageError


class Ledger:
    """All permits of a `Caps`, and the tickets that wait for them."""

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self.resources = {r.name: r for r in resources}
        self.root = self
        """The ledger that this one extends, or itself. The kernel has one dispatcher per root."""
        self.moves: list[tuple[str, int, int, str]] = []
        """Changes of adaptive caps: name, from, to, why. Whoever reports them clears the list."""
        self.calls = Group("order")
        """The group of all calls: first come, first served."""
        self.driver: object = None
        """Of a root: the dispatcher that passes grants on, for everyone who shares it."""
        self._orders = count(1)
        self._freed: dict[Resource, None] = {}
        self._timed: dict[Resource, None] = {}
        self._awaited: dict[Resource, None] = {}
        """Exclusive caps that a ticket waits for."""
        self._expected: dict[ResolvedNeeds, Expectation] = {}

    def extended(self, resources: Iterable[Resource]) -> Ledger:
        """A ledger with more caps, which shares its permits and waiting tickets with this one.

        With it a system can have caps of its own while its calls stay within those around it. A
        new cap hides an existing one of the same name.
        """
        found = copy(self)  # a shallow copy: the waiting tickets are shared
        found.resources = {**self.resources, **{r.name: r for r in resources}}
        return found

    def next_order(self) -> int:
        """The place of a call in the order of arrival: 1, 2, 3 …"""
        return next(self._orders)

    # -- asking ---------------------------------------------------------------------------------

    def request(self, ticket: Ticket, now: float) -> bool:
        """Take the permits now (True), or wait in line (False)."""
        if self._fits(ticket, now):
            self._take(ticket, now)
            return True
        self._enqueue(ticket)
        return False

    def release(self, ticket: Ticket, ran_s: float) -> None:
        """Give the permits back; `grants` then returns who goes next."""
        ticket.state = "over"
        # The fan-out's own cap last: if it came first, its own items would always go first.
        for resource, units in reversed(ticket.needs):
            if resource.waiting and resource.scarce:
                self._freed[resource] = None
            resource.in_use -= units
            if resource.leased is not None:
                resource.leased.look()
        if ticket.group.lines:
            line = ticket.group.lines.get(ticket.needs)
            if line is not None:
                line.ran += 1
                line.ran_s += ran_s

    def hand_back(self, ticket: Ticket, now: float) -> None:
        """Give back permits that were not used, and refund the rates."""
        self.release(ticket, 0.0)
        for resource, _ in ticket.needs:
            if resource.pace is not None:
                resource.pace.not_let()
            for bucket in resource.buckets:
                bucket.take(-bucket.amount(ticket.paid), now)

    @property
    def may_grant(self) -> bool:
        """Whether `grants` or `wake_at` may return something."""
        return bool(self._freed or self._timed)

    @property
    def timed(self) -> bool:
        """Whether `wake_at` may return a time."""
        return bool(self._timed)

    @property
    def adapts(self) -> bool:
        """Whether any cap is adaptive and has to know how attempts went."""
        return any(r.adaptation is not None for r in self.resources.values())

    @property
    def idle(self) -> bool:
        """Whether nobody holds a permit or waits for one."""
        return not any(r.in_use or r.waiting for r in self.resources.values())

    def withdraw(self, ticket: Ticket) -> None:
        """Leave the line."""
        if ticket.state == "waiting":
            ticket.state = "over"
            ticket.group.waiting -= 1
            self._look_again_at_turns()

    def grants(self, now: float) -> list[Ticket]:
        """Every ticket that can go now; its permits are taken."""
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
        """When to call `grants` again because a rate will have refilled; None: no need."""
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
        """The server said "too many requests": adaptive caps shrink, pause and slow down."""
        for resource, _ in ticket.needs:
            if resource.adaptation is None or resource.limit is None:
                continue
            if retry_after and 0 < retry_after <= LONGEST_WAIT_S:
                resource.hold_back(ticket.taken_at, retry_after, now)
                if resource.waiting:
                    self._timed[resource] = None
            elif resource.pace is not None:
                resource.pace.not_let()
            new = resource.adaptation.refused(resource.limit, ticket.taken_at, now)
            self._move(resource, new, "refused")

    def accepted(self, ticket: Ticket, now: float) -> None:
        """It succeeded, so a full adaptive cap may grow. Call this before `release`."""
        for resource, _ in ticket.needs:
            if resource.adaptation is None or resource.limit is None:
                continue
            full = resource.in_use >= resource.limit
            if resource.pace is not None:
                resource.pace.accepted(now, busy=full or resource.awaited)
            new = resource.adaptation.accepted(resource.limit, saturated=full)
            self._move(resource, new, "saturated")

    def settle(self, ticket: Ticket, tokens: float, now: float, *, whole: bool = True) -> None:
        """Correct the rates: this many tokens were used, instead of the expected number.

        Not `whole`: it was refused or broke off, so it says nothing about what others will use.
        """
        for resource, _ in ticket.needs:
            for bucket in resource.buckets:
                if bucket.counts_tokens:
                    bucket.take(tokens - ticket.paid, now)
        if ticket.tokens and whole:
            self._expected.setdefault(ticket.needs, Expectation()).learn(ticket.tokens, tokens)

    # -- shared caps ----------------------------------------------------------------------------

    def demand(self, resource: Resource) -> tuple[int, int]:
        """The permits that could be in use now, and the most that one of those who wait needs.

        Those who wait for other caps as well count as far as these have room.
        """
        wanted, unit = resource.in_use, 1
        for group in resource.waiting:
            for line in group.lines.values():
                units = next((u for r, u in line.needs if r is resource), 0)
                if not units or line.head() is None:
                    continue
                rooms = [
                    (r.limit - r.in_use) // u
                    for r, u in line.needs
                    if r is not resource and r.limit is not None
                ]
                wanted += units * max(0, min([len(line.tickets), *rooms]))
                unit = max(unit, units)
        most = resource.most or 0
        return min(wanted, most), unit

    def lease(self, resource: Resource, limit: int, until: float) -> None:
        """This process holds so many permits of a shared cap, until then."""
        assert resource.leased is not None
        resource.limit = limit
        resource.leased.until = until
        if resource.waiting:
            self._freed[resource] = None

    def refilled(self, resource: Resource) -> None:
        """A shared rate has granted something to this process."""
        if resource.waiting:
            self._freed[resource] = None

    def change(self, resource: Resource, limit: int) -> None:
        """From now on this is the limit; of an adaptive cap, the most that it may reach.

        What is in flight stays so. A need above the limit is granted when it is alone.
        """
        if resource.adaptation is not None:
            resource.adaptation.most = limit
            resource.adaptation.least = min(resource.adaptation.least, limit)
        resource.most = max(resource.most or 0, limit)
        resource.lowered = limit < resource.most
        self._move(resource, limit, "asked")

    # -- needs ----------------------------------------------------------------------------------

    def resolve(self, needs: Mapping[str, int], total: Resource | None = None) -> ResolvedNeeds:
        """Turn names into resources, the fan-out's own cap first. `ImpossibleNeeds` if too many."""
        found = [(self.resources[name], units) for name, units in sorted(needs.items())]
        for resource, units in found:
            if resource.most is not None and units > resource.most:
                raise ImpossibleNeeds(resource.name, units, resource.most)
        exclusive = [resource.name for resource, _ in found if resource.turns is not None]
        if len(exclusive) > 1:
            raise UsageError(
                f"one item needs the exclusive caps {', '.join(exclusive)} at once",
                "Turns are taken at one of them: make the others plain caps",
            )
        return ((total, 1), *found) if total is not None else tuple(found)

    def check_nesting(self, needs: Iterable[str], held: Iterable[Resource]) -> None:
        """Refuse to wait for a cap while holding it, or to nest two caps in both orders.

        The order in which caps were nested is remembered, so the error does not depend on timing:
        it comes the first time, not on the day that two items meet.
        """
        held = set(held)
        for name in needs:
            cap = self.resources[name]
            if cap in held or held & _reachable(cap):
                raise NestedCap(name, [outer.name for outer in held])
            for outer in held:
                outer.inside.add(cap)

    # -- inside ---------------------------------------------------------------------------------

    def _fits(self, ticket: Ticket, now: float) -> bool:
        tokens = self._tokens(ticket)
        for resource, units in ticket.needs:
            if not resource.fits(units, tokens, now):
                return False
            if resource.turns is not None and self._has_to_wait_its_turn(resource, units, now):
                return False
        return True

    def _has_to_wait_its_turn(self, resource: Resource, units: int, now: float) -> bool:
        """Whether it is the others' turn, and one of them lacks only permits of this cap."""
        turns = resource.turns
        if turns is None or turns.is_of(units):
            return False
        for group in resource.waiting:
            for line in group.lines.values():
                theirs = next((u for r, u in line.needs if r is resource), units)
                head = line.head() if turns.is_of(theirs) else None
                if head is not None and self._lacks_only(resource, head, now):
                    return True
        return False

    def _lacks_only(self, resource: Resource, ticket: Ticket, now: float) -> bool:
        tokens = self._tokens(ticket)
        return all(
            r.wait(0 if r is resource else units, tokens, now) == 0.0 for r, units in ticket.needs
        )

    def _tokens(self, ticket: Ticket) -> float:
        """The tokens that it will probably use, as far as is known now."""
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
        if self._awaited:
            self._look_again_at_turns()

    def _look_again_at_turns(self) -> None:
        """A ticket left, or took permits: those that let it go first may go now."""
        for resource in tuple(self._awaited):
            if resource.waiting:
                self._freed[resource] = None
            else:
                del self._awaited[resource]

    def _enqueue(self, ticket: Ticket) -> None:
        ticket.state = "waiting"
        group = ticket.group
        group.waiting += 1
        group.line(ticket.needs).tickets.append(ticket)
        for resource, units in ticket.needs:
            resource.waiting[group] = None
            if units > resource.largest:
                resource.largest = units
            if resource.turns is not None:
                self._awaited[resource] = None
            if resource.buckets or resource.paused_until is not None:
                self._timed[resource] = None
            if resource.leased is not None:
                resource.leased.look()

    def _next(self, resource: Resource, now: float) -> Ticket | None:
        """Grant one ticket that needs this resource, if one fits."""
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
            resource.waiting[group] = None  # to the end: groups take turns
        group.lines[ticket.needs].tickets.popleft()
        group.waiting -= 1

    def _best(self, group: Group, resource: Resource, now: float) -> Ticket | None:
        fitting: list[tuple[TicketLine, Ticket]] = []
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
        if len(fitting) == 1:
            return fitting[0][1]
        if group.prefer == "order":
            return min(fitting, key=lambda pair: pair[1].order)[1]
        ran = sum(line.ran for line in group.lines.values())
        mean = sum(line.ran_s for line in group.lines.values()) / ran if ran else 1.0
        return max(fitting, key=lambda pair: (pair[0].remaining(mean), -pair[1].order))[1]

    def _soonest(self, resource: Resource, now: float) -> float | None:
        """The shortest wait of a ticket that only a rate holds back; None: there is none."""
        waits: list[float] = []
        for group in resource.waiting:
            for line in group.lines.values():
                if not line.wants(resource):
                    continue  # the resources that it waits for will say when
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


def _reachable(cap: Resource) -> set[Resource]:
    """The caps that were ever nested inside this one, at any depth."""
    found: set[Resource] = set()
    todo = [cap]
    while todo:
        for inner in todo.pop().inside:
            if inner not in found:
                found.add(inner)
                todo.append(inner)
    return found
