"""One open item: from the moment that it is pulled until its outcome is told.

It is its own ticket for permits. A hundred thousand are made, so what most items never change is
an attribute of the class.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

from fanwise.core.outcome import Attempt, Outcome
from fanwise.kernel.dispatch import Grantee

if TYPE_CHECKING:
    from fanwise.kernel.engine import Engine

I = TypeVar("I")  # noqa: E741
T = TypeVar("T")


class Entry(Grantee, Generic[I, T]):
    """What the engine knows of an item while it is open."""

    attempts: tuple[Attempt, ...] = ()
    calls: tuple[Attempt, ...] = ()
    calling = 0
    """Attempts of calls that are under way."""
    parked = 0
    """Calls that wait for permits, or back off."""
    task: asyncio.Task[None] | None = None
    wake: asyncio.Future[None] | None = None
    guests: frozenset[asyncio.Task[object]] = frozenset()
    """Fan-outs that sync code of this item began on our loop."""
    begun = False
    cancel_asked = False
    twice = False
    again = False
    """An earlier outcome of it does not count: what failed inside runs again."""
    outcome: Outcome[T] | None = None
    """What became of it, on its way to disk."""

    def __init__(
        self, engine: Engine[I, T], index: int, item: I, given_key: str | None, asked_at: float
    ) -> None:
        # Its group and its needs are set by the schedule.
        self.engine = engine
        self.index = self.order = index
        self.item = item
        self.given_key = given_key
        self.asked_at = asked_at

    @property
    def idle(self) -> bool:
        """It only waits for calls, and none has come to anything: ending it loses nothing."""
        if not self.parked or self.calling:
            return False
        return all(attempt.error is not None for attempt in self.calls)

    @property
    def key(self) -> str:
        """Its identity across resumes."""
        return str(self.index) if self.given_key is None else self.given_key

    @property
    def caps(self) -> list[str]:
        """The named caps that it holds or waits for."""
        return [resource.name for resource, _ in self.needs[1:]]

    def granted(self) -> None:
        """Its permits are taken: for the first attempt, or for another after a backoff."""
        if self.wake is None:
            self.engine.start(self)
        elif not self.wake.done():
            self.wake.set_result(None)
