"""`run_workflow`: a workflow from Python."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import msgspec

from fanwise.core.budget import BudgetLike
from fanwise.core.caps import CapsLike
from fanwise.core.notebook import html_table
from fanwise.core.retry import Retry, RetryLike, as_retry
from fanwise.core.stats import Stats
from fanwise.errors import NotOk, UsageError
from fanwise.kernel.durable_run import JournalLike
from fanwise.kernel.events import Subscriber
from fanwise.kernel.in_run import SystemRun, in_run
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.run import RunLike
from fanwise.kernel.sync import sync_twin
from fanwise.specs import Document, read
from fanwise.specs.plain import plain
from fanwise.workflow.in_python import Workflow
from fanwise.workflow.run.options import RunOptions
from fanwise.workflow.runnable import RunnableWorkflow, plan
from fanwise.workflow.state.run_state import StepState
from fanwise.workflow.steps.gate import Ask

KEY = "workflow"
WorkflowLike = str | os.PathLike[str] | Mapping[str, Any] | Workflow


class WorkflowResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a workflow."""

    run_id: str | None
    """The durable run that has it; None: it was in memory."""
    status: str
    """completed, failed, aborted, or paused at a gate or where it was told to stop."""
    ok: bool
    """Whether it ran to its end, or as far as was asked."""
    steps: Mapping[str, StepState]
    """What came of each step, by its path: its `status`, `output` and `error`."""
    failures: Mapping[str, str] = {}
    """The steps that failed, by path, and why. Some may be allowed to."""
    gate: Mapping[str, Any] | None = None
    """The gate that waits for an answer: its `step_id`, `message` and `options`."""
    may_have_run_twice: Sequence[str] = ()
    """Steps that ran when an execution was killed, and ran again, since the run began."""
    notes: Sequence[str] = ()
    """Remarks for the user."""
    stats: Stats = Stats()

    def _repr_html_(self) -> str:
        rows = ((path, each.status, each.error) for path, each in self.steps.items())
        return html_table(self.status, ("step", "status", "error"), rows, len(self.steps))

    def require(self) -> Self:
        """The result itself; `NotOk` if it is not `ok`."""
        if self.ok:
            return self
        told = [f"{path}: {why}" for path, why in self.failures.items()]
        if self.gate is not None:
            told.append(f"{self.gate['step_id']} waits for an answer: {self.gate['message']}")
        raise NotOk("; ".join([self.status, *told[-1:]]), self)


async def run_workflow(
    workflow: WorkflowLike,
    inputs: Mapping[str, Any] | None = None,
    *,
    answers: Mapping[str, str] | None = None,
    ask: Ask | None = None,
    start: str | None = None,
    stop_after: str | None = None,
    lenient: bool = False,
    compat: str | None = None,
    trust_project: bool = False,
    project: str | os.PathLike[str] | None = None,
    retry: RetryLike = Retry.none(),  # noqa: B008 - frozen
    folder: str | os.PathLike[str] = ".",
    run: RunLike | None = None,
    journal: JournalLike | None = None,
    caps: CapsLike | None = None,
    budget: BudgetLike | None = None,
    name: str | None = None,
    subscribers: Iterable[Subscriber] = (),
    **more_inputs: Any,
) -> WorkflowResult:
    """Run the steps of a workflow, up to its end or to a gate that waits for an answer.

    `workflow`: the path of a file, a `Workflow`, or what would stand in a file; then paths are
    relative to `folder`.
    Inputs are keywords, `run_workflow("w.yaml", n=3)`, or stand in `inputs={…}`: there one may have
    the name of an option, such as `name`. `answers`: of gates, by their ids or paths.
    `ask`: called at each other gate with its message, the text of its `show_file` and its options;
    returns one of them, or None to pause; may be async. `start`: the step from which on
    everything runs again. `stop_after`: the last step to run. `lenient`, `compat`, `trust_project`:
    as on the command line. `project`: where its commands run; default: the working directory.
    `retry`: of steps that run something and have no `retry` of their own; like the answers, it is
    not kept for a resume. The options from `run` on are the `RunArguments` of every entry point;
    `subscribers` get a `StepChanged` when a step begins and when it ends. To answer a gate at which
    a durable run is paused, run the same workflow with the same `run` and `answers`; what is done
    does not run again. As a part of another run it is continued with the item that it belongs to,
    also by another attempt at it.
    """
    if both := sorted(set(inputs or {}) & set(more_inputs)):
        raise UsageError(f"the input {both[0]!r} is given twice", "Leave it out of `inputs`")
    asked = RunOptions(
        input={**(inputs or {}), **more_inputs},
        answer=tuple(f"{gate}={choice}" for gate, choice in (answers or {}).items()),
        start=start,
        stop_after=stop_after,
        lenient=lenient,
        compat=compat,
        trust_project=trust_project,
        project=None if project is None else os.fspath(project),
        retry=as_retry(retry),
        names=tuple(inspect.signature(run_workflow).parameters)[:-1],
    )
    made = await in_thread(_made, workflow, folder, asked, ask)
    wanted = SystemRun.of(KEY, made, folder=made.folder)
    ending, run_id, stats = await in_run(
        made.ended, wanted, lambda _: None,
        run=run, journal=journal, caps=caps, budget=budget, name=name, subscribers=subscribers,
    )  # fmt: skip
    return WorkflowResult(
        run_id=run_id,
        status=ending.status,
        ok=ending.ok,
        steps=ending.steps,
        failures=ending.failures,
        gate=ending.gate,
        may_have_run_twice=ending.twice,
        notes=[*made.notes, *ending.notes],
        stats=stats,
    )


run_workflow_sync = sync_twin(run_workflow)


def _made(
    workflow: WorkflowLike,
    folder: str | os.PathLike[str],
    asked: RunOptions,
    ask: Ask | None,
) -> RunnableWorkflow:
    if isinstance(workflow, Workflow):
        workflow = workflow.data
    if isinstance(workflow, Mapping):
        document = Document.of_program("run_workflow(…)", folder, plain(workflow))
    else:
        document = read(workflow)
    made = plan(document, asked, asks=False, ask=ask)
    _ = made.spec  # what is wrong with its inputs is said before anything begins
    return made
