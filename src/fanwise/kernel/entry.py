"""One open item: from the moment that it is pulled until its outcome is told."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

from fanwise.core.outcome import Attempt, Outcome
from fanwise.kernel.dispatch import Grantee

if TYPE_CHECKING:
    from fanwise.kernel.engine import Engine

I = TypeVar("I")  # noqa: E741
T = TypeVar("T")
NO_GUESTS: frozenset[asyncio.Task[object]] = frozenset()


class Entry(Grantee, Generic[I, T]):
    """What the engine knows of an item while it is open. It is its own ticket for permits."""

    __slots__ = (
        "again",
        "asked_at",
        "attempts",
        "begun",
        "calling",
        "calls",
        "cancel_asked",
        "engine",
        "given_key",
        "guests",
        "index",
        "item",
        "outcome",
        "parked",
        "task",
        "twice",
        "wake",
    )

    def __init__(
        self, engine: Engine[I, T], index: int, item: I, given_key: str | None, asked_at: float
    ) -> None:
        schedule = engine.schedule
        super().__init__(schedule.group, schedule.only_total, index)
        self.engine = engine
        self.index = index
        self.item = item
        self.given_key = given_key
        self.asked_at = asked_at
        self.attempts: tuple[Attempt, ...] = ()
        self.calls: tuple[Attempt, ...] = ()
        self.calling = 0
        """Attempts of calls that are under way."""
        self.parked = 0
        """Calls that wait for permits, or back off."""
        self.task: asyncio.Task[None] | None = None
        self.wake: asyncio.Future[None] | None = None
        self.guests = NO_GUESTS
        """Fan-outs that sync code of this item began on our loop."""
        self.begun = False
        self.cancel_asked = False
        self.twice = False
        self.again = False
        """An earlier outcome of it does not count: what failed inside runs again."""
        self.outcome: Outcome[T] | None = None
        """What became of it, on its way to disk."""

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
