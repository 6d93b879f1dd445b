"""Leaves as items of the kernel: recorded once, found again, performed when they must be."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

import msgspec

from fanwise.core.halt import Halt
from fanwise.core.outcome import Outcome, Outcomes
from fanwise.core.retry import Retry
from fanwise.errors import (
    BudgetExceeded,
    FanwiseError,
    JournalError,
    RateLimited,
    StepFailed,
    UsageError,
    one_line,
)
from fanwise.kernel.events import Event
from fanwise.kernel.fan_out import fan_out
from fanwise.kernel.run import Run
from fanwise.kernel.scope import item_of
from fanwise.workflow.expressions.values import Impossible
from fanwise.workflow.spec.steps import GateStep, Step
from fanwise.workflow.state.frame import Frame, more_needs
from fanwise.workflow.state.history import TWICE
from fanwise.workflow.state.run_state import StepState
from fanwise.workflow.state.step_result import (
    Moment,
    Record,
    StepResult,
    brief,
    digest_of,
    record_of,
)
from fanwise.workflow.steps.port import Leaf, Resolved, StepPlace

PASSED_ON = (JournalError, BudgetExceeded, RateLimited)
"""Errors that must reach the kernel unchanged."""


class StepChanged(Event, frozen=True, kw_only=True):
    """A step began (`running`) or ended; of a step that is tried again, each attempt."""

    step: StepState


class Interrupted(Exception):
    """The run was halted or cancelled from outside: nothing more is executed."""


class LeafExecution:
    """A leaf to execute, at one path."""

    __slots__ = (
        "digest",
        "frame",
        "given",
        "mask",
        "place",
        "problem",
        "resolved",
        "since",
        "step",
    )

    def __init__(
        self,
        step: Step,
        frame: Frame,
        place: StepPlace,
        kind: Leaf[Any],
        since: Moment,
    ) -> None:
        mask = self.mask = place.mask
        self.step = step
        self.frame = frame
        self.since = since
        """Older records do not count."""
        self.problem: str | None = None
        self.resolved: Resolved = {}
        try:
            resolved = kind.resolve(step, frame)
            # What a gate is given is shown to people.
            self.resolved = mask(resolved) if isinstance(step, GateStep) else resolved
        except (FanwiseError, Impossible) as error:
            self.problem = str(error)
        except Exception as error:  # a failure of this step, and of no other
            self.problem = one_line(error)
        self.given = mask(self.resolved)
        self.digest = digest_of([step.type, self.given, mask(self.problem)])
        version = ".".join([self.digest, *map(str, since or (0,))])
        self.place = msgspec.structs.replace(place, version=version)

    def record(self, result: StepResult) -> dict[str, Any]:
        """The result as plain data, for the journal."""
        return Record(
            self.step.type, result.status, self.digest, self.place.execution, self.frame.inside,
            [*self.frame.moment[1:]], self.frame.settled, self.mask(result.output),
            self.mask(result.error), self.place.decided, brief(self.given) or None,
        ).to_json()  # fmt: skip

    def counts(self, outcome: Outcome[Any]) -> bool:
        """Whether what was recorded before is what this one would come to."""
        record = record_of(outcome.value)
        if record is None:
            return False
        if record.status == "paused" and record.output.get("choice") is None:
            # Nobody had answered; what was used up before that stays so.
            self.place = msgspec.structs.replace(self.place, decided=record.decided)
            return False
        final = record.status == "completed" or (record.status == "failed" and self._past(record))
        if final and record.digest == self.digest and record.moment >= self.since:
            return True
        self.place = msgspec.structs.replace(self.place, decided=record.execution)
        return False

    def _past(self, failed: Record) -> bool:
        """Whether the steps went on after this failure, so that it is not tried again.

        They did if a step absorbs it, and no further attempt was to follow at anything inside
        that step: what is tried again by now then stands around it.
        """
        return failed.settled <= self.frame.absorbing(self.step).absorbed


class Leaves:
    def __init__(
        self,
        run: Run,
        kinds: Mapping[type[Step], Leaf[Any]],
        retry: Retry = Retry.none(),  # noqa: B008 - frozen
        twice: Iterable[str] = (),
    ) -> None:
        self._run = run
        self._kinds = kinds
        self._retry = retry
        """For steps without their own."""
        self.performed = 0
        """How many were performed, and not found in the journal."""
        self.latest = 0
        """The latest execution that performed one of those that count."""
        self.twice = dict.fromkeys(twice)
        """The paths of those that an execution had begun, with no end in the journal, and that were
        performed again, since the run began."""

    def in_run(self, run: Run) -> Leaves:
        """The same in another run."""
        found = copy(self)
        found._run = run
        return found

    def knows(self, step: Step) -> bool:
        """Whether it is a leaf."""
        return type(step) in self._kinds

    def execution(self, step: Step, frame: Frame, place: StepPlace, since: Moment) -> LeafExecution:
        return LeafExecution(step, frame, place, self._kinds[type(step)], since)

    async def one(self, execution: LeafExecution) -> StepResult:
        """Execute a single leaf."""
        outcomes = await self.many(
            [execution], execution.step, cap=1, name=execution.place.path, halt=Halt.never()
        )
        return result_of(outcomes[0], execution.frame.moment)

    def _count(self, execution: LeafExecution, outcome: Outcome[Any]) -> bool:
        counts = execution.counts(outcome)
        if counts and (record := record_of(outcome.value)) is not None:
            self.latest = max(self.latest, record.execution)
        return counts

    async def many(
        self,
        executions: Iterable[LeafExecution],
        step: Step,
        *,
        cap: int,
        name: str,
        halt: Halt,
    ) -> Outcomes[Any]:
        """Execute the leaves of one step, each as an item. `Interrupted`."""
        outcomes = await fan_out(
            self._perform,
            executions,
            cap=cap,
            run=self._run,
            name=name,
            key=lambda execution: execution.place.path,
            needs=self._needs,
            retry=self._retry if step.retry is None else step.retry.retry(),
            halt=halt,
            reuse=self._count,
        )
        return whole(outcomes)

    def _note_if_begun_before(self, path: str) -> None:
        """The note is on disk before the end of the item is: no later kill can hide it."""
        item = item_of(self._run)
        if item is not None and item.twice and path not in self.twice:
            self.twice[path] = None
            self._run.note(TWICE, path)

    def _needs(self, execution: LeafExecution) -> Mapping[str, int]:
        declared = more_needs(execution.frame.needs, execution.step.needs)
        if execution.problem is not None:
            return declared
        return more_needs(declared, self._kinds[type(execution.step)].needs)

    async def _perform(self, execution: LeafExecution) -> dict[str, Any]:
        self.performed += 1
        self.latest = execution.place.execution
        self._note_if_begun_before(execution.place.path)
        self._changed(execution, "running")
        try:
            result = await self._result(execution)
        except PASSED_ON:
            raise
        except Exception as error:
            output = error.result if isinstance(error, StepFailed) else None
            text = execution.mask(_told(error))
            failed = StepResult("failed", output or {}, text)
            self._changed(execution, "failed", failed.output, text)
            cause = None if execution.mask.hides else error  # a cause is recorded as it is
            raise StepFailed(text, execution.record(failed)) from cause
        self._changed(execution, result.status, result.output, result.error)
        return execution.record(result)

    def _changed(
        self,
        execution: LeafExecution,
        status: str,
        output: Mapping[str, Any] | None = None,
        error: str | None = None,
    ) -> None:
        if self._run.subscribers:
            step, frame = execution.step, execution.frame
            shown: dict[str, Any] = execution.mask(dict(output or {}))
            path, error = execution.place.path, execution.mask(error)
            self.changed(StepState(path, step.type, status, shown, error, frame.inside))

    def changed(self, state: StepState) -> None:
        """Tell the subscribers."""
        if self._run.subscribers:
            now = asyncio.get_running_loop().time()
            self._run.subscribers.emit(StepChanged(at=now, step=state))

    async def _result(self, execution: LeafExecution) -> StepResult:
        if execution.problem is not None:
            raise StepFailed(execution.problem)
        step = execution.step
        kind = self._kinds[type(step)]
        if step.timeout is None or kind.bounds_itself:
            return await kind.perform(step, execution.resolved, execution.place)
        try:
            async with asyncio.timeout(step.timeout):
                return await kind.perform(step, execution.resolved, execution.place)
        except TimeoutError as error:
            raise StepFailed(f"timed out after {step.timeout:g} s") from error


def _told(error: Exception) -> str:
    """What is wrong with the file or the project needs no name of an error."""
    if isinstance(error, StepFailed):
        return error.message
    return " ".join(str(error).split()) if isinstance(error, UsageError) else one_line(error)


def whole(outcomes: Outcomes[Any]) -> Outcomes[Any]:
    """The outcomes; `Interrupted` if the fan-out was interrupted."""
    cut = any(outcome.status in ("cancelled", "skipped") for outcome in outcomes)
    if cut or (outcomes.halt_reason is not None and outcomes.halted_by is None):
        raise Interrupted
    return outcomes


def result_of(outcome: Outcome[Any], now: Moment) -> StepResult:
    """The result of a step, from the outcome of its item."""
    record = record_of(outcome.value)
    if record is not None:
        return record.result
    error = outcome.error
    told = outcome.status if error is None else one_line(error)
    return StepResult("failed", {}, told, moment=now)
