"""The current item: which fan-out it belongs to, and which caps it holds.

This is the only ambient state in fanwise. It is a context variable, so that nested fan-outs and
calls find their caps, budget and run without having them passed in.
"""

from __future__ import annotations

import asyncio
import contextvars
from typing import TYPE_CHECKING, Any, NamedTuple

from fanwise.core.budget import Budgets
from fanwise.core.caps import Caps
from fanwise.core.ledger import Ledger
from fanwise.core.paths import path_part
from fanwise.core.resource import Resource
from fanwise.core.stats import CAP
from fanwise.core.tickets import Ticket
from fanwise.errors import DuplicateName
from fanwise.kernel.dispatch import dispatcher_of
from fanwise.kernel.events import CapMoved, Subscribers
from fanwise.kernel.virtual_time import clock_of

if TYPE_CHECKING:
    from fanwise.kernel.open_item import OpenItem
    from fanwise.kernel.run import Run
    from fanwise.kernel.threads import Threads

HeldCaps = frozenset[Resource]
NOTHING_HELD: HeldCaps = frozenset()


class FanOutScope:
    """What all items of a fan-out share."""

    __slots__ = (
        "again",
        "away",
        "budgets",
        "held",
        "ledger",
        "loop",
        "path",
        "run",
        "subscribers",
        "threads",
        "time",
        "work_s",
    )

    def __init__(
        self,
        *,
        loop: asyncio.AbstractEventLoop,
        ledger: Ledger,
        budgets: Budgets,
        run: Run | None,
        subscribers: Subscribers,
        path: str,
        held: HeldCaps,
        threads: Threads,
        again: bool,
        away: bool = False,
    ) -> None:
        self.loop = loop
        self.time = clock_of(loop)
        self.ledger = ledger
        self.budgets = budgets
        self.run = run
        self.subscribers = subscribers
        self.path = path
        self.held = held
        """Caps that the items around this fan-out hold."""
        self.threads = threads
        self.work_s: dict[str, float] = {}
        """Seconds of work that calls and nested fan-outs did, by cap."""
        self.again = again
        """Whether an item around was tried before: then failures inside run again."""
        self.away = away
        """Whether its attempts are made by workers in other processes."""

    def worked(self, ticket: Ticket, ran_s: float) -> None:
        """A call inside has used these permits."""
        for resource, units in ticket.needs:
            name = resource.name
            self.work_s[name] = self.work_s.get(name, 0.0) + ran_s * units

    def report_moves(self) -> None:
        """Report changes of adaptive caps to the run and its subscribers."""
        moves = [*self.ledger.moves]
        self.ledger.moves.clear()
        for name, before, after, reason in moves:
            data: dict[str, Any] = {"before": before, "after": after, "reason": reason}
            if self.run is not None:
                self.run.note(CAP, {"name": name, **data})
            if self.subscribers:
                self.subscribers.emit(CapMoved(at=self.loop.time(), name=name, **data))


class FanOutPaths:
    """Gives paths to the fan-outs inside one item, or to those at the top of a run."""

    __slots__ = ("_names", "_unnamed")

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._unnamed = 0

    def path(self, name: str | None, parent: str | None) -> str:
        """The parent's path, then the name; `#0`, `#1` … if there is none."""
        if name is None:
            name = f"#{self._unnamed}"
            self._unnamed += 1
        name = path_part(name)
        path = name if parent is None else f"{parent}/{name}"
        if path in self._names:
            raise DuplicateName(path)
        self._names.add(path)
        return path


current: contextvars.ContextVar[OpenItem[Any, Any] | None] = contextvars.ContextVar(
    "fanwise_item", default=None
)
"""The item that the running code works on."""


caps_at_home: contextvars.ContextVar[frozenset[str]] = contextvars.ContextVar(
    "fanwise_caps_at_home", default=frozenset()
)
"""In an item on a worker: the names of the caps that its driver has around it."""


def declared_caps() -> frozenset[str]:
    """The names of all caps that are declared around the running code."""
    scope = current.get()
    if scope is None:
        return caps_at_home.get()
    return frozenset(scope.fan_out.ledger.resources)


class CapUse(NamedTuple):
    wanted: int
    """Permits that are in use or waited for."""
    limit: int
    free: bool
    """Whether a permit can be had now."""


def cap_use(name: str) -> CapUse | None:
    """How a cap that is declared around is used; None: there is none, or it has no limit."""
    scope = current.get()
    found = None if scope is None else scope.fan_out.ledger.resources.get(name)
    if scope is None or found is None or found.limit is None:
        return None
    free = found.fits(1, 0.0, scope.fan_out.loop.time())
    return CapUse(found.wanted, found.limit, free and found.wanted < found.limit)


def ledger_here(caps: Caps | None, run: Run | None) -> Ledger:
    """The ledger of a fan-out that begins here.

    It has the fan-out's own caps, and those of its run and those around it, which still hold. Of
    two with the same name, the inner one counts.
    """
    around = current.get()
    found = Ledger()
    if around is not None and around.fan_out.loop is asyncio.get_running_loop():
        found = around.fan_out.ledger
    if run is not None and (around is None or run is not around.fan_out.run):
        found = _beside(found, run.caps)
    return _beside(found, caps)


def _beside(around: Ledger, caps: Caps | None) -> Ledger:
    if caps is None:
        return around
    own = caps.ledger.resources
    if around.resources.keys() <= own.keys():
        return caps.ledger  # itself, because others elsewhere may share these caps
    dispatcher_of(caps.ledger)  # raises if they are in use on another event loop
    return around.extended(own.values())


def current_run() -> Run | None:
    """The run around the running code."""
    scope = current.get()
    return None if scope is None else scope.fan_out.run


def item_of(run: Run) -> OpenItem[Any, Any] | None:
    """The current item, if it belongs to this run."""
    scope = current.get()
    return scope if scope is not None and scope.fan_out.run is run else None


def path_here(name: str, run: Run) -> str:
    """The path in this run of a fan-out with this name, if it begins here."""
    around = item_of(run)
    return path_part(name) if around is None else f"{around.path}/{path_part(name)}"


def failures_run_again(run: Run | None = None) -> bool:
    """Whether failures run again here; `reuse` functions ask this about other outcomes.

    They do in an item that is being retried, and in a run (default: the current one) that was
    opened with `retry_failed`.
    """
    scope, run = current.get(), run or current_run()
    return (scope is not None and scope.again) or (run is not None and run.retries_failed)
