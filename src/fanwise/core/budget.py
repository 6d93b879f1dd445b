"""Most in all: requests, tokens, dollars. Reserved before they are spent, settled after.

A reservation is the most that an attempt may cost. While others' reservations stand in the way
one waits, since they may settle for less; when what is *spent* leaves no room, one is refused.
So a budget is never overspent, and never refused for what was only feared.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Literal

from fanwise.core.outcome import Usage
from fanwise.errors import BadCap, BudgetExceeded, UnknownCost

KINDS = ("requests", "tokens", "usd")
# Dollars are summed as floats: the last digit must not decide.
_EPSILON = 1e-9


class Reservation:
    """What an attempt may cost at most, and whether it may go."""

    __slots__ = ("amount", "refusal", "state", "tag")

    def __init__(self, amount: Usage, tag: object = None) -> None:
        self.amount = amount
        self.tag = tag
        self.state: Literal["waiting", "held", "refused", "over"] = "waiting"
        self.refusal: BudgetExceeded | UnknownCost | None = None


class Budget:
    """`Budget(usd=5)`: the most that may be spent in all."""

    def __init__(
        self,
        *,
        requests: float | None = None,
        tokens: float | None = None,
        usd: float | None = None,
    ) -> None:
        given = {"requests": requests, "tokens": tokens, "usd": usd}
        for kind, most in given.items():
            if most is not None and (isinstance(most, bool) or not most > 0):
                raise BadCap(f"{kind} of the budget", most, "a number above 0")
        self.limits = {kind: most for kind, most in given.items() if most is not None}
        if not self.limits:
            raise BadCap("the budget", None, "requests, tokens or usd")
        self.spent = dict.fromkeys(KINDS, 0.0)
        self.reserved = dict.fromkeys(KINDS, 0.0)
        self._waiting: deque[Reservation] = deque()
        self._counted: set[str] = set()

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={self.spent[k]:g}/{most:g}" for k, most in self.limits.items())
        return f"Budget({inside})"

    def already_spent(self, run_id: str, usages: Iterable[Usage]) -> None:
        """What earlier executions of a run spent; counted once, however often it is opened."""
        if run_id not in self._counted:
            self._counted.add(run_id)
            for usage in usages:
                self._add(self.spent, usage, +1)

    def reserve(self, reservation: Reservation) -> bool:
        """True: held. False: wait for `settle` to name it. `BudgetExceeded`: never."""
        self._decide(reservation)
        if reservation.refusal is not None:
            raise reservation.refusal
        if reservation.state == "waiting":
            self._waiting.append(reservation)
            return False
        return True

    def settle(self, reservation: Reservation, spent: Usage | None) -> list[Reservation]:
        """What it really cost (None: nothing). Returns those that are decided by this."""
        if reservation.state == "waiting":
            self._waiting.remove(reservation)
        if reservation.state == "held":
            self._add(self.reserved, reservation.amount, -1)
        reservation.state = "over"
        if spent is not None:
            self._add(self.spent, spent, +1)
        return self._decide_waiting()

    def _decide_waiting(self) -> list[Reservation]:
        decided: list[Reservation] = []
        while self._waiting:
            self._decide(self._waiting[0])
            if self._waiting[0].state == "waiting":
                break
            decided.append(self._waiting.popleft())
        return decided

    def _decide(self, reservation: Reservation) -> None:
        fits = True
        for kind, limit in self.limits.items():
            wanted: float | None = getattr(reservation.amount, kind)
            if wanted is None:
                reservation.state = "refused"
                reservation.refusal = UnknownCost(kind, limit)
                return
            if self.spent[kind] + wanted > limit + _EPSILON:
                reservation.state = "refused"
                reservation.refusal = BudgetExceeded(kind, limit, self.spent[kind], wanted)
                return
            fits = fits and self.spent[kind] + self.reserved[kind] + wanted <= limit + _EPSILON
        if fits:
            reservation.state = "held"
            self._add(self.reserved, reservation.amount, +1)

    @staticmethod
    def _add(to: dict[str, float], usage: Usage, sign: int) -> None:
        for kind in KINDS:
            to[kind] += sign * (getattr(usage, kind) or 0.0)
