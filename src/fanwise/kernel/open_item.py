"""One open item, from the moment that it is pulled until its outcome is reported."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from fanwise.core.outcome import Attempt, Outcome
from fanwise.core.paths import path_part
from fanwise.core.stats import CombinedStats
from fanwise.errors import UsageError
from fanwise.kernel.dispatch import PermitWaiter
from fanwise.kernel.meter import Elsewhere
from fanwise.kernel.scope import FanOutPaths, FanOutScope, HeldCaps

if TYPE_CHECKING:
    from fanwise.kernel.engine import Engine

I = TypeVar("I")  # noqa: E741
T = TypeVar("T")
NO_GUESTS: frozenset[asyncio.Task[object]] = frozenset()
StartRecord = Literal["due", "being written", "on disk"]


class OpenItem(PermitWaiter, Generic[I, T]):
    """What the engine knows about an item while it is open.

    It is its own ticket for permits. The code that works on it finds it as the current item
    (`scope.py`), and through it the fan-out, the run and the caps around.
    """

    __slots__ = (
        "_fan_out_paths",
        "_inside",
        "_key",
        "asked_at",
        "attempts",
        "begun",
        "calling",
        "calls",
        "cancel_asked",
        "elsewhere",
        "engine",
        "given_key",
        "guests",
        "index",
        "item",
        "outcome",
        "outdated",
        "parked",
        "start",
        "task",
        "twice",
        "wake",
    )

    def __init__(
        self, engine: Engine[I, T], index: int, item: I, given_key: str | None, asked_at: float
    ) -> None:
        # The fields of a ticket are set here too, which saves a call for each of a million items.
        self.group = engine.schedule.group
        self.needs = engine.schedule.only_total
        self.order = index
        self.tokens = self.paid = self.taken_at = 0.0
        self.state = "new"
        self.tried = False
        self.engine = engine
        self.index = index
        self.item = item
        self.given_key = given_key
        self.asked_at = asked_at
        self.attempts: tuple[Attempt, ...] = ()
        self.calls: tuple[Attempt, ...] = ()
        self.calling = 0
        """Attempts of calls that are running."""
        self.parked = 0
        """Calls that wait for permits or back off."""
        self.task: asyncio.Task[None] | None = None
        self.wake: asyncio.Future[None] | None = None
        self.guests = NO_GUESTS
        """Fan-outs that sync code of this item started on our loop."""
        self.begun = False
        self.start: StartRecord = "on disk"
        """Of an item that starts with its first call: what is on disk of its start."""
        self.cancel_asked = False
        self.twice = False
        self.outdated = False
        """Whether a recorded outcome of it is no longer valid."""
        self.elsewhere: Elsewhere | None = None
        """What the worker says of the attempt that it has just made; None: made here."""
        self.outcome: Outcome[T] | None = None
        """Its outcome, while that is being written to disk."""
        self._key = given_key
        self._fan_out_paths: FanOutPaths | None = None
        self._inside: CombinedStats | None = None

    @property
    def idle(self) -> bool:
        """Whether it only waits for calls, none of which has succeeded: ending it loses nothing."""
        if not self.parked or self.calling:
            return False
        return all(attempt.error is not None for attempt in self.calls)

    @property
    def key(self) -> str:
        """Its identity across resumes."""
        if self._key is None:
            self._key = str(self.index)
        return self._key

    @property
    def caps(self) -> list[str]:
        """The named caps that it holds or waits for."""
        return [resource.name for resource, _ in self.needs[1:]]

    # -- for the code that works on it ----------------------------------------------------------

    @property
    def fan_out(self) -> FanOutScope:
        """What it shares with the other items of its fan-out."""
        return self.engine.scope

    @property
    def path(self) -> str:
        """Its stable path inside its run."""
        return f"{self.engine.scope.path}/{path_part(self.key)}"

    @property
    def fan_out_paths(self) -> FanOutPaths:
        """The paths of the fan-outs inside it; most items have none."""
        if self._fan_out_paths is None:
            self._fan_out_paths = FanOutPaths()
        return self._fan_out_paths

    @property
    def inside(self) -> CombinedStats:
        """The stats of the fan-outs inside it that have ended."""
        if self._inside is None:
            self._inside = CombinedStats()
        return self._inside

    def given_to_another(self) -> None:
        """Start over on another worker, because the first is gone: it may have run twice."""
        self.new_attempt()
        if self.engine.recorder is not None:
            self.engine.recorder.started_again(self)

    def new_attempt(self) -> None:
        """Start over, so that fan-outs inside it get the same names as in the last attempt."""
        self._fan_out_paths = self._inside = None

    @property
    def again(self) -> bool:
        """Whether it or an item around it was tried before: then failures inside run again."""
        return bool(self.attempts) or self.outdated or self.engine.scope.again

    @property
    def held(self) -> HeldCaps:
        """The caps that this item and those around it hold."""
        if not self.engine.schedule.is_open(self.index):
            raise UsageError(
                f"item {self.index} has ended, and code that it started goes on",
                "Let an item await all that it starts",
            )
        return self.engine.scope.held.union(resource for resource, _ in self.needs[1:])

    # -- what it waits for ----------------------------------------------------------------------

    def on_disk(self, error: BaseException | None) -> None:
        """Its start or its outcome was written or, with an error, could not be."""
        if self.outcome is None:
            self.engine.start_recorded(self, error)
        else:
            self.engine.end_recorded(self, self.outcome, error)

    def granted(self) -> None:
        """Its permits are taken, for the first attempt or after a backoff."""
        if self.wake is None:
            self.engine.start(self)
        elif not self.wake.done():
            self.wake.set_result(None)
