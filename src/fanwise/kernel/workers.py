"""Where attempts are performed: a port, and its first implementation, *here*.

The process that runs a fan-out (the driver) decides everything: permits, rates, budgets, halts,
retries, order, journal. Only attempts go elsewhere, one at a time, so every promise holds by the
same code wherever work runs. An implementation performs an attempt, cancels it and waits for its
end, and gives it to another worker when the first one dies.

*Here* costs nothing: its attempter is the one that the engine would have without this file.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from fanwise.errors import UsageError
from fanwise.journal.port import JOINED
from fanwise.kernel.events import NodeGone, WorkerEvent, WorkerJoined
from fanwise.kernel.scope import current
from fanwise.kernel.threads import Threads
from fanwise.kernel.work import Attempter, attempter

if TYPE_CHECKING:
    from fanwise.kernel.run import Run


class Workers(Protocol):
    """Performs attempts."""

    def attempter(self, work: Any, timeout: float | None) -> Attempter:
        """An async function that performs one attempt at an item, within the time-out.

        Cancelling it cancels the attempt and waits for its end. It returns the value or raises the
        error of the work, as they are. Raises `UsageError` for work that cannot be sent.
        """

    def watch(self, told: Callable[[WorkerEvent], None]) -> Callable[[], None]:
        """Call this for workers and nodes that come and go, until the returned function is called.

        It is called at once for those that are there.
        """


class WorkPlace(Protocol):
    """What `on` takes: somewhere with workers."""

    def start(self) -> None:
        """Start or join it, unless that was done. Blocks; every `start` needs a `stop`."""

    def stop(self) -> None:
        """The last one ends the workers, and whatever the first `start` had started. Blocks."""

    def workers(self) -> AbstractAsyncContextManager[Workers]:
        """Its workers, for one fan-out on the running loop."""


MOST_KEYS = 100
"""Of items on a lost worker: so many are named in the journal."""


def note_of(event: WorkerEvent) -> tuple[str, dict[str, Any]]:
    """The event as the journal keeps it."""
    if isinstance(event, WorkerJoined):
        return JOINED, {"worker": event.worker}
    if isinstance(event, NodeGone):
        return "node_gone", {"node": event.node, "reason": event.reason}
    keys = event.keys[:MOST_KEYS]
    return "worker_gone", {"worker": event.worker, "reason": event.reason, "items": keys}


class Here:
    """Performs attempts in this process: sync functions in threads of the fan-out."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    def attempter(self, work: Any, timeout: float | None) -> Attempter:
        return attempter(work, self._threads, timeout)

    def watch(self, told: Callable[[WorkerEvent], None]) -> Callable[[], None]:
        """This process does not come and go."""
        return lambda: None


class _ThisProcess:
    """The place that `on` is when nothing else is given; say so where a run has another."""

    def __repr__(self) -> str:
        return "HERE"


HERE = _ThisProcess()
On = WorkPlace | _ThisProcess
_NOWHERE_ELSE: AbstractAsyncContextManager[None] = nullcontext()


def workers_of(on: On | None, run: Run | None) -> AbstractAsyncContextManager[Workers | None]:
    """The workers of a fan-out that begins here; None: those of this process.

    Without `on` a fan-out uses those of its run, unless it is inside an item: such an item is
    where it is because its code could not or should not travel.
    """
    if on is None:
        if run is None or run.on is None or run.kind != "fan_out":
            return _NOWHERE_ELSE
        around = current.get()
        if around is not None and around.fan_out.run is run:
            return _NOWHERE_ELSE
        return run.on.workers()
    if isinstance(on, _ThisProcess):
        return _NOWHERE_ELSE
    return check_place(on).workers()


def check_place(on: Any) -> WorkPlace:
    if not callable(getattr(on, "workers", None)):
        raise UsageError(f"on is {on!r}", "Give Ray(…), or leave it out to work in this process")
    place: WorkPlace = on
    return place


def only_here(kind: str, on: str) -> UsageError:
    """For systems whose work is in workspaces of this machine."""
    return UsageError(
        f"{kind} works in workspaces of this machine, and cannot run on {on}", "Leave `on` out"
    )
