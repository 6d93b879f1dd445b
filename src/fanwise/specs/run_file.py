"""`run_file`: run any file from Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from fanwise.core.budget import BudgetLike
from fanwise.core.caps import CapsLike
from fanwise.core.retry import RetryLike, as_retry
from fanwise.core.stats import Stats
from fanwise.errors import NotOk
from fanwise.journal.damage import explain_damage
from fanwise.kernel.durable_run import JournalLike
from fanwise.kernel.events import Subscriber
from fanwise.kernel.in_run import SystemRun, in_run, note_environment
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.run import Run, RunLike
from fanwise.kernel.scope import item_of
from fanwise.kernel.sync import sync_twin
from fanwise.kernel.workers import WorkPlace
from fanwise.specs.plain import plain_retry
from fanwise.specs.read import read
from fanwise.specs.registry import system_of
from fanwise.specs.system import End, Opening, Runnable, runnable_of
from fanwise.system_options import Option
from fanwise.view.run_summary import PLANNED

PAUSED = 3
"""The exit code of a run that waits for an answer."""


class FileResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a file, like the document of `fanwise run --json`."""

    kind: str
    """The system that the file is for."""
    run_id: str | None
    """The id of the durable run; None: it was in memory."""
    status: str
    """done, failed, paused, halted or cancelled, or the system's own word."""
    exit_code: int
    """0 done, 1 some failed, 3 paused at a gate."""
    result: Any = None
    """JSON-able."""
    output: Sequence[str] = ()
    """Lines for stdout: the result."""
    notes: Sequence[str] = ()
    """Lines for stderr: what else users should know."""
    failures: Sequence[str] = ()
    """A line for each part that failed."""
    facts: Mapping[str, Any] = {}
    """What else the system reports, such as the gate at which a workflow waits."""
    stats: Stats = Stats()

    @property
    def ok(self) -> bool:
        """Whether everything that the file asks for succeeded."""
        return self.exit_code == 0 and self.status not in ("halted", "cancelled")

    def require(self) -> Self:
        """The result itself; `NotOk` if it is not `ok`."""
        if self.ok:
            return self
        parts = [self.status, *self.notes[:1], *self.failures[:1]]
        raise NotOk(f"{self.kind}: {'; '.join(dict.fromkeys(parts))}", self)


async def run_file(
    path: str | os.PathLike[str],
    *,
    run: RunLike | None = None,
    journal: JournalLike | None = None,
    caps: CapsLike | None = None,
    budget: BudgetLike | None = None,
    retry: RetryLike | None = None,
    name: str | None = None,
    subscribers: Iterable[Subscriber] = (),
    on: WorkPlace | None = None,
    **options: Any,
) -> FileResult:
    """Run a file by the system that its top-level key names, checked completely before.

    `run`, `journal`, `caps`, `budget`, `name`, `subscribers`, `on`: as in the other entry points
    (see `RunArguments`). `options`: those of the system, as `fanwise run` has them: `only`,
    `rerun`, `input`, `apply` …; those that it does not know are a `UsageError`. `retry` replaces
    that of the file: of calls in a matrix, of sub-plans in a plan; in a workflow, it is for steps
    without one.
    """
    kind, runnable = await in_thread(_runnable, path, retry, options)
    opening: Opening = getattr(runnable, "opening", Opening())
    wanted = SystemRun.of(kind, runnable, **msgspec.structs.asdict(opening))

    async def body(here: Run) -> tuple[End, str]:
        if item_of(here) is None:
            return await execute_runnable(runnable, here), here.ending[0]
        end = await runnable.execute(here)
        return end, _status(end, here)

    (end, status), run_id, stats = await in_run(
        body, wanted, lambda _: None, run=run, journal=journal, caps=caps, budget=budget,
        name=name, subscribers=subscribers, on=on,
    )  # fmt: skip
    return FileResult(
        kind=kind,
        run_id=run_id,
        status=status if status in ("halted", "cancelled") else end.status or status,
        exit_code=end.exit_code,
        result=end.document,
        output=end.output,
        notes=end.notes,
        failures=end.failures,
        facts=end.facts,
        stats=stats,
    )


run_file_sync = sync_twin(run_file)


async def execute_runnable(runnable: Runnable, run: Run) -> End:
    """Execute it in a run of its own, which then says what it ran with and how far it came."""
    folder: Path | None = getattr(runnable, "folder", None)
    if folder is not None:
        await note_environment(run, folder)
    if runnable.total is not None and not run.resumed:
        run.note(PLANNED, {"items": runnable.total})
    if run.journal is None or not run.resumed:
        end = await runnable.execute(run)
    else:
        with explain_damage(run.journal, run.id):
            end = await runnable.execute(run)
    if end.counts is not None:
        run.conclude(end.counts)
    if end.exit_code == PAUSED:
        run.end_as("paused")
    return end


def _runnable(
    path: str | os.PathLike[str], retry: RetryLike | None, options: Mapping[str, Any]
) -> tuple[str, Runnable]:
    document = read(path)
    system = system_of(document)
    declared: Sequence[Option] = getattr(system, "options", ())
    if retry is None:
        pass
    elif any(each.name == "retry" and not each.commands for each in declared):
        options = {**options, "retry": as_retry(retry)}
    else:
        plain = retry if isinstance(retry, int) else plain_retry(retry)
        document = document.with_field(system.name, "retry", plain)
    return system.name, runnable_of(system, document, options)


def _status(end: End, run: Run) -> str:
    """The status of one part of a run, which may differ from that of the run."""
    if run.halting is not None:
        return run.halting
    if end.counts is not None and end.counts.short:
        return "halted"
    return {0: "done", PAUSED: "paused"}.get(end.exit_code, "failed")
