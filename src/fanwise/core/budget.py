"""Budgets: the most that may be spent in total, in requests, tokens or dollars.

An attempt reserves the most it may cost before it starts, and settles what it really cost when it
ends. If the reservations of others are in the way, it waits, because they may settle for less. It
is refused only when the money actually spent leaves no room. So a budget is never overspent, and
nothing is refused because of mere estimates.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Literal, Protocol, runtime_checkable

from fanwise.core.outcome import Usage
from fanwise.core.shares import nobody
from fanwise.errors import BadCap, BudgetExceeded, UnknownCost, UsageError

KINDS = ("requests", "tokens", "usd")
# Dollars are summed as floats, and a rounding error must not decide.
_EPSILON = 1e-9


@runtime_checkable
class Wakes(Protocol):
    """Somebody who waits for a budget."""

    def over(self) -> None: ...


class Reservation:
    """The most that an attempt may cost, and where the attempt stands."""

    __slots__ = ("amount", "inside", "order", "state", "tag")

    def __init__(
        self, amount: Usage, order: int = 0, tag: object = None, inside: Sequence[Usage] = ()
    ) -> None:
        self.amount = amount
        self.inside = inside
        """What the calls around it hold: they end after it, so it cannot wait for them."""
        self.order = order
        """First come, first served."""
        self.tag = tag
        """Has a method `over`, which wakes who waits."""
        self.state: Literal["new", "waiting", "held", "over"] = "new"

    def wake(self) -> None:
        """Let it try again."""
        assert isinstance(self.tag, Wakes)
        self.tag.over()


class Budget:
    """`Budget(usd=5)`: the most that may be spent in total.

    `Budget(usd=50, shared="team")`: on one day (UTC), by all processes with the same journal that
    use this name; it needs a durable run.
    """

    def __init__(
        self,
        *,
        requests: float | None = None,
        tokens: float | None = None,
        usd: float | None = None,
        shared: str | None = None,
    ) -> None:
        given = {"requests": requests, "tokens": tokens, "usd": usd}
        for kind, most in given.items():
            if most is not None and not _is_above_0(most):
                raise BadCap(f"{kind} of the budget", most, "a number above 0")
        self.limits = {kind: most for kind, most in given.items() if most is not None}
        if not self.limits:
            raise BadCap("the budget", None, "requests, tokens or usd")
        if shared is not None and not (isinstance(shared, str) and shared):
            raise BadCap("the name of the shared budget", shared, "a text")
        self.share = None if shared is None else BudgetShare(shared)
        self.spent = dict.fromkeys(KINDS, 0.0)
        self.reserved = dict.fromkeys(KINDS, 0.0)
        self._waiting: list[Reservation] = []
        self._order = count()
        self._counted: set[str] = set()

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={self.spent[k]:g}/{most:g}" for k, most in self.limits.items())
        return f"Budget({inside})"

    def already_spent(self, path: str, usages: Iterable[Usage]) -> None:
        """Add what earlier executions of a run (`r`) or of a fan-out in it (`r/a`) spent.

        Each path counts once, however often it is opened, and covers everything inside it.
        """
        if not any(f"{path}/".startswith(f"{counted}/") for counted in self._counted):
            self._counted.add(path)
            for usage in usages:
                self._add(self.spent, usage, +1)

    def reservation(
        self, amount: Usage, tag: object = None, inside: Sequence[Usage] = ()
    ) -> Reservation:
        """A new reservation of this much, in line behind all earlier ones."""
        return Reservation(amount, next(self._order), tag, inside)

    def reserve(self, reservation: Reservation) -> bool:
        """True: reserved. False: try again when `settle` returns it. Raises if it can never fit."""
        self.check(reservation)
        if not self.has_room(reservation):
            self.wait(reservation)
            return False
        self.hold(reservation)
        return True

    def check(self, reservation: Reservation) -> None:
        """Raise `BudgetExceeded` if it can never fit, `UnknownCost` if its price is unknown."""
        for kind, limit in self.limits.items():
            wanted: float | None = getattr(reservation.amount, kind)
            if wanted is None:
                raise UnknownCost(kind, limit)
            spent = self._spent_by_all(kind) + self._around(reservation)[kind]
            if spent + wanted > limit + _EPSILON:
                raise BudgetExceeded(kind, limit, spent, wanted)

    def has_room(self, reservation: Reservation) -> bool:
        """Whether it fits beside what others have reserved."""
        return self._fits(reservation.amount, self.reserved)

    def wait(self, reservation: Reservation) -> None:
        """Put it in line until `settle` returns it."""
        reservation.state = "waiting"
        insort(self._waiting, reservation, key=lambda each: each.order)
        if self.share is not None:
            self.share.look()

    def hold(self, reservation: Reservation) -> None:
        """Count the reservation against the budget until it is settled."""
        reservation.state = "held"
        self._add(self.reserved, reservation.amount, +1)

    def settle(self, reservation: Reservation, spent: Usage | None) -> list[Reservation]:
        """Record what it really cost (None: nothing), and return those that should try again.

        These hold nothing yet. If they did, one that still waits for a permit could block the
        attempt that holds that permit.
        """
        if reservation.state == "waiting":
            self._waiting.remove(reservation)
        if reservation.state == "held":
            self._add(self.reserved, reservation.amount, -1)
        reservation.state = "over"
        if spent is not None:
            self._add(self.spent, spent, +1)
            if self.share is not None:
                self._add(self.share.untold, spent, +1)
                self.share.look()
        return self.worth_a_try()

    def worth_a_try(self) -> list[Reservation]:
        """Take out of the line: the first ones that fit together, and those that can never fit."""
        reserved = dict(self.reserved)
        tries: list[Reservation] = []
        for waiting in self._waiting:
            around = self._around(waiting)
            never = any(
                self._spent_by_all(kind) + around[kind] + getattr(waiting.amount, kind)
                > limit + _EPSILON
                for kind, limit in self.limits.items()
            )
            if not never and not self._fits(waiting.amount, reserved):
                break
            if not never:
                self._add(reserved, waiting.amount, +1)
            tries.append(waiting)
        del self._waiting[: len(tries)]
        for each in tries:
            each.state = "new"
        return tries

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for it."""
        return bool(self._waiting)

    @property
    def wanted(self) -> dict[str, float]:
        """What is reserved, and what those want who wait for it."""
        return self._with(self._waiting)

    @property
    def least(self) -> dict[str, float]:
        """What is reserved, and what the first of those wants."""
        return self._with(self._waiting[:1])

    def _with(self, waiting: Iterable[Reservation]) -> dict[str, float]:
        waiting = list(waiting)
        return {
            kind: self.reserved[kind] + sum(getattr(each.amount, kind) for each in waiting)
            for kind in self.limits
        }

    def _spent_by_all(self, kind: str) -> float:
        if self.share is None:
            return self.spent[kind]
        return self.share.spent_by_all.get(kind, 0.0) + self.share.untold[kind]

    def _fits(self, amount: Usage, reserved: Mapping[str, float]) -> bool:
        if self.share is not None:
            return self.share.has_room(amount, reserved, self.limits)
        return all(
            self.spent[kind] + reserved[kind] + getattr(amount, kind) <= limit + _EPSILON
            for kind, limit in self.limits.items()
        )

    def _around(self, reservation: Reservation) -> dict[str, float]:
        found = dict.fromkeys(KINDS, 0.0)
        for usage in reservation.inside:
            self._add(found, usage, +1)
        return found

    @staticmethod
    def _add(to: dict[str, float], usage: Usage, sign: int) -> None:
        for kind in KINDS:
            to[kind] += sign * (getattr(usage, kind) or 0.0)


class BudgetShare:
    """What this process may spend of a shared budget, as the book said last."""

    __slots__ = ("granted", "look", "name", "owner", "spent_by_all", "untold")

    def __init__(self, name: str) -> None:
        self.name = f"budget:{name}"
        self.granted: Mapping[str, float] = {}
        self.spent_by_all: Mapping[str, float] = {}
        """Today, as far as it was told."""
        self.untold = dict.fromkeys(KINDS, 0.0)
        """What was spent here since."""
        self.look: Callable[[], None] = nobody
        """Called when somebody waits, and when something was spent."""
        self.owner: object = None
        """What talks to the book, in the kernel."""

    def tell(self, spent: Mapping[str, float], reserved: Mapping[str, float]) -> None:
        """The book is told what was spent. Until it answers, nothing more can be reserved."""
        self.spent_by_all = {k: self.spent_by_all.get(k, 0.0) + spent[k] for k in spent}
        self.untold = {kind: self.untold[kind] - spent[kind] for kind in spent}
        self.granted = {
            kind: min(most - spent[kind], reserved[kind]) for kind, most in self.granted.items()
        }

    def has_room(self, amount: Usage, reserved: Mapping[str, float], kinds: Iterable[str]) -> bool:
        """Whether it fits into what was granted, beside what is reserved."""
        return all(
            self.untold[kind] + reserved[kind] + getattr(amount, kind)
            <= self.granted.get(kind, 0.0) + _EPSILON
            for kind in kinds
        )


BudgetLike = Budget | Mapping[str, Any]


def as_budget(given: BudgetLike | None) -> Budget | None:
    """A `Budget`, or a mapping that makes one: `{"usd": 5}`."""
    if given is None or isinstance(given, Budget):
        return given
    if not isinstance(given, Mapping):
        raise UsageError(f"budget is {given!r}", 'Give Budget(usd=5) or {"usd": 5}')
    unknown = [kind for kind in given if kind not in (*KINDS, "shared")]
    if unknown:
        raise UsageError(f"budget has {unknown[0]!r}", f"Give {', '.join(KINDS)} or shared")
    return Budget(**given)


def _is_above_0(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and given > 0


class Budgets:
    """Nested budgets: whatever is spent counts against each of them."""

    __slots__ = ("_each",)

    def __init__(self, each: tuple[Budget, ...] = ()) -> None:
        self._each = each

    def __bool__(self) -> bool:
        return bool(self._each)

    def within(self, *budgets: Budget | None) -> Budgets:
        """The same and these; a budget that is already there counts once."""
        if not any(budgets):
            return self
        each = list(self._each)
        for budget in budgets:
            if budget is not None and not any(budget is other for other in each):
                each.append(budget)
        return Budgets(tuple(each))

    @property
    def shared(self) -> list[Budget]:
        """Those that other processes use, too."""
        return [each for each in self._each if each.share is not None]

    def reservation(self, amount: Usage, tag: object = None, inside: Sequence[Claim] = ()) -> Claim:
        """A new reservation of this much in each of them. `inside`: those of the calls around."""
        parts = [
            (each, each.reservation(amount, tag, [c.amount for c in inside if c.counts_in(each)]))
            for each in self._each
        ]
        return Claim(amount, parts)


class Claim:
    """One reservation in each of several budgets: held in all of them, or in none."""

    __slots__ = ("_parts", "amount")

    def __init__(self, amount: Usage, parts: list[tuple[Budget, Reservation]]) -> None:
        self.amount = amount
        self._parts = parts

    def reserve(self) -> bool:
        """As `Budget.reserve`; while it waits for one budget it holds nothing of the others."""
        for budget, part in self._parts:
            budget.check(part)
        for budget, part in self._parts:
            if not budget.has_room(part):
                budget.wait(part)
                return False
        for budget, part in self._parts:
            budget.hold(part)
        return True

    def counts_in(self, budget: Budget) -> bool:
        """Whether it holds something of this budget."""
        return any(each is budget and part.state == "held" for each, part in self._parts)

    def passed_on(self) -> list[Reservation]:
        """It has to wait for one budget: who may use what the other budgets had offered it."""
        return [
            each
            for budget, part in self._parts
            if part.state != "waiting"
            for each in budget.worth_a_try()
        ]

    def settle(self, spent: Usage | None) -> list[Reservation]:
        """As `Budget.settle`."""
        return [each for budget, part in self._parts for each in budget.settle(part, spent)]
