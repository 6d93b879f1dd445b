"""Where a system runs when it is called from Python. All entry points share this.

It runs in a run of its own, durable or in memory, or as a part of an open run: one that it was
given, or that of the item around it. As a part it is one item that is not recorded itself. Its
fan-outs are recorded below that item, so that a resume finds them and two systems in one run do
not collide. In a run with workers that item stays here, where its state is; what it performs
travels (`sent_calls.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Protocol, TypedDict, TypeVar

import msgspec

from fanwise.core.budget import Budget, BudgetLike, as_budget
from fanwise.core.caps import Caps, CapsLike, as_caps
from fanwise.core.counts import Counts
from fanwise.core.stats import Stats
from fanwise.errors import FanwiseError, UsageError
from fanwise.kernel.durable_run import JournalLike
from fanwise.kernel.environment import environment
from fanwise.kernel.events import Subscriber
from fanwise.kernel.fan_out import fan_out
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.run import MEMORY, Run, RunLike, open_run, run_of
from fanwise.kernel.scope import current, current_run
from fanwise.kernel.workers import HERE, WorkPlace, only_here

T = TypeVar("T")
InRun = tuple[T, str | None, Stats]
"""The value, the id of the durable run (None: in memory), and the stats."""


class RunArguments(TypedDict, total=False):
    """The keyword arguments of every entry point that say where it runs.

    `run`: an open `Run`, or an id, which is continued if it exists; default: the run of the item
    around, or memory. `journal`: where that run is recorded, as for `open_run`; without an id the
    run gets one. `caps`: a `Caps` or a mapping, in addition to the system's own and those around;
    of two with the same name, this one counts. `budget`: a `Budget` or a mapping instead of the
    system's own; those around still count. `name`: its name within a run that has other parts.
    `subscribers`, `on`: as for `open_run`; with `on`, the calls of models are made there.
    """

    run: RunLike | None
    journal: JournalLike | None
    caps: CapsLike | None
    budget: BudgetLike | None
    name: str | None
    subscribers: Iterable[Subscriber]
    on: WorkPlace | None


class Prepared(Protocol):
    """What a system makes of its arguments, or of a file, before it runs."""

    @property
    def title(self) -> str: ...
    @property
    def spec(self) -> Any: ...
    @property
    def caps(self) -> Caps | None: ...
    @property
    def budget(self) -> Budget | None: ...


class SystemRun(msgspec.Struct, frozen=True, kw_only=True):
    """The run that a system wants."""

    kind: str
    title: str
    spec: Any
    folder: Path | None = None
    """The folder whose commit is recorded; None: the body takes care of it."""
    run_id: str | None = None
    """The id of a durable run that was given none."""
    caps: Caps | None = None
    budget: Budget | None = None
    on: WorkPlace | None = None
    stays_here: bool = False
    """Whether its work cannot go to workers, so that `on` is refused."""
    may_change: bool = False
    retry_failed: bool = False

    @classmethod
    def of(cls, kind: str, made: Prepared, **more: Any) -> SystemRun:
        """The run for what a system has prepared."""
        title, spec, caps, budget = made.title, made.spec, made.caps, made.budget
        more["on"] = getattr(made, "on", None)
        more["stays_here"] = getattr(made, "stays_here", False)
        return cls(kind=kind, title=title, spec=spec, caps=caps, budget=budget, **more)


async def in_run(
    body: Callable[[Run], Awaitable[T]],
    wanted: SystemRun,
    counts: Callable[[T], Counts | None],
    *,
    run: RunLike | None = None,
    journal: JournalLike | None = None,
    caps: CapsLike | None = None,
    budget: BudgetLike | None = None,
    name: str | None = None,
    subscribers: Iterable[Subscriber] = (),
    on: WorkPlace | None = None,
) -> InRun[T]:
    """Await `body` in the run that these arguments select. `counts`: the progress it made."""
    if on is not None and wanted.stays_here:
        raise only_here(wanted.kind, repr(on))
    wanted = msgspec.structs.replace(
        wanted,
        caps=_merged(wanted.caps, as_caps(caps)),
        budget=as_budget(budget) or wanted.budget,
        on=on or wanted.on,
    )
    subscribers = tuple(subscribers)
    if isinstance(run, str) or journal is not None or (run is None and current_run() is None):
        if isinstance(run, Run):
            raise UsageError("run is open, and has its journal", "Leave `journal` out")
        return await _in_its_own(body, wanted, counts, run, journal, subscribers)
    if subscribers:
        raise UsageError("the run is open, and has its subscribers", "Give them to `open_run`")
    if wanted.retry_failed:
        step = "Open it with retry_failed=True, or give an id"
        raise UsageError("what had failed runs again only in a run that was opened so", step)
    async with run_of(run) as found:
        return await as_a_part(
            body, wanted.kind, caps=wanted.caps, budget=wanted.budget, on=wanted.on, run=found,
            name=name,
        )  # fmt: skip


def _merged(own: Caps | None, given: Caps | None) -> Caps | None:
    """The system's own caps, and those that it was given, which win."""
    if own is None or given is None:
        return own or given
    missing = [each for each in own.ledger.resources.values() if each.name not in given.names]
    return Caps.over(given.ledger.extended(missing))


async def _in_its_own(
    body: Callable[[Run], Awaitable[T]],
    wanted: SystemRun,
    counts: Callable[[T], Counts | None],
    run_id: str | None,
    journal: JournalLike | None,
    subscribers: Iterable[Subscriber],
) -> InRun[T]:
    durable = run_id is not None or journal is not None
    opened = open_run(
        run_id or (wanted.run_id if durable else None),
        journal=journal if durable else MEMORY,
        retry_failed=wanted.retry_failed,
        may_change=wanted.may_change,
        kind=wanted.kind,
        name=wanted.title,
        spec=wanted.spec,
        caps=wanted.caps,
        budget=wanted.budget,
        subscribers=subscribers,
        on=wanted.on,
    )
    async with opened as found:
        if found.durable_id is not None and wanted.folder is not None:
            await note_environment(found, wanted.folder)
        value = await body(found)
        if (counted := counts(value)) is not None:
            found.conclude(counted)
        return value, found.durable_id, found.stats


async def note_environment(run: Run, folder: Path) -> None:
    """Record package versions and the commit of the folder with the run."""
    run.note("environment", await in_thread(environment, folder))


async def as_a_part(
    body: Callable[[Run], Awaitable[T]],
    kind: str,
    *,
    caps: Caps | None = None,
    budget: Budget | None = None,
    on: WorkPlace | None = None,
    run: Run | None = None,
    name: str | None = None,
) -> InRun[T]:
    """Await `body` as one unrecorded item of this run, or of the one around. `on` is refused."""
    if on is not None:
        raise UsageError(
            f"on is {on!r}, and {kind} is a part of a run, which has one place for all its parts",
            "Give `on` to the run",
        )
    ended: list[InRun[T]] = []

    async def work(_: str) -> None:
        here, scope = current_run(), current.get()
        assert here is not None and scope is not None
        ended.append((await body(here), here.durable_id, scope.inside.stats))

    outcomes = await fan_out(
        work, [kind], cap=1, caps=caps, budget=budget, run=run, name=name, key=str, record=False,
        on=HERE,
    )  # fmt: skip
    for outcome in outcomes:
        outcome.unwrap()
    if not ended:
        raise FanwiseError("the run is halting, and starts nothing more", "Resume it")
    return ended[0]
