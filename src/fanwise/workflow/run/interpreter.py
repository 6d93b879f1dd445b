"""Executes steps, one after the other; what is inside a step, by its kind.

Nothing here is recorded in order to be resumed, and nothing here has an effect of its own: it
follows from the recorded outcomes of the leaves, and a resume follows the same way to where they
end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import msgspec

from fanwise.core.retry import Retry
from fanwise.errors import AttemptTimeout, StepFailed, UsageError
from fanwise.kernel.fan_out import fan_out
from fanwise.kernel.run import Run
from fanwise.kernel.run_inside import RunAfter
from fanwise.processes.mask import Masker
from fanwise.workflow.expressions import truth
from fanwise.workflow.run import fan_out_steps as fanning
from fanwise.workflow.run.leaves import Leaves, whole
from fanwise.workflow.spec import steps as spec
from fanwise.workflow.spec.steps import Step
from fanwise.workflow.spec.workflow_file import LoadedWorkflow, bind_inputs
from fanwise.workflow.state.cut_short import CUT, CUT_NO_MORE, cut_short, digest_of_whole
from fanwise.workflow.state.frame import Frame, Home
from fanwise.workflow.state.history import RunHistory
from fanwise.workflow.state.order import Order
from fanwise.workflow.state.run_state import STEP, StepState
from fanwise.workflow.state.step_result import Moment, StepResult
from fanwise.workflow.steps.kinds import Project
from fanwise.workflow.steps.port import StepPlace

DEFAULT = "__default__"
"""What a switch says when no case matched, as spec-kit's does."""


class Interpreter:
    """Executes the steps of one run."""

    def __init__(
        self,
        run: Run,
        workflow: LoadedWorkflow,
        project: Project,
        history: RunHistory,
        leaves: Leaves,
        *,
        stop_after: str | None = None,
    ) -> None:
        self.run = run
        self.leaves = leaves
        self.position = 0
        """The place of the top-level step that is executed, from 0."""
        self._project = project
        self._history = history
        self._stop_after = stop_after
        self._order = Order(workflow.all_steps)
        self._starts = [
            (number, order)
            for number, step in history.starts
            if (order := self._order.named(step)) is not None
        ]

    def after(self) -> Interpreter:
        """For steps that run although the run may be halting."""
        found = copy(self)
        found.run = RunAfter(self.run)
        found.leaves = self.leaves.in_run(found.run)
        found._stop_after = None
        return found

    async def all(self, steps: Sequence[Step], frame: Frame) -> StepResult | None:
        """Execute the top-level steps; see `these`."""
        for self.position, step in enumerate(steps):
            stop = await self.these([step], frame)
            if stop is not None:
                return stop
        return None

    async def at_the_end(self, steps: Sequence[Step], frame: Frame) -> StepResult | None:
        """Execute all of them, whatever fails; returns the first failure."""
        results = [await self.step(step, frame) for step in steps]
        return next((each for each in results if not each.goes_on), None)

    async def these(self, steps: Sequence[Step], frame: Frame) -> StepResult | None:
        """Execute them; the result that ended it early, or None when all were executed."""
        for step in steps:
            result = await self.step(step, frame)
            if not result.goes_on:
                return result
        return None

    async def step(self, step: Step, frame: Frame) -> StepResult:
        """Execute one, and what is to be done if it fails; all that comes after can see it."""
        path = frame.path(step.id)
        began, performed = self.run.wall(), self.leaves.performed
        leaf = self.leaves.knows(step)
        if not leaf:
            self.leaves.changed(StepState(path, step.type, "running", inside=frame.inside))
        result = self._skipped(step, frame) or await self._executed(step, path, frame)
        if not leaf:  # records of leaves are masked
            mask = frame.home.mask
            output, error = mask(result.output), mask(result.error)
            result = msgspec.structs.replace(result, output=output, error=error)
        if result.status == "failed" and step.on_failure:
            result = await self._after_failure(step, path, frame, result)
        if result.status == "failed" and step.continue_on_error:
            result = msgspec.structs.replace(result, absorbed=True)
        if result.at is None:
            result = msgspec.structs.replace(result, at=path)
        frame.put(step, path, result)
        if not leaf or result.status == "skipped":
            self.leaves.changed(frame.states[path])
        if not leaf or step.if_ is not None:  # whether it was skipped is not in its item
            fresh = leaf or self.leaves.performed != performed
            self._note(step, path, frame, result, began, fresh=fresh)
        if result.goes_on and f"{frame.file}{step.id}" == self._stop_after:
            return StepResult("paused", result.output, f"stopped after {path}", at=path)
        return result

    def _skipped(self, step: Step, frame: Frame) -> StepResult | None:
        """The result of a step whose `if` does not hold, or cannot be computed; else None."""
        if isinstance(step, spec.SlotStep):
            return StepResult("skipped", {"slot": step.name}, moment=frame.moment)
        try:
            if step.if_ is None or truth(step.if_.render(frame.roots())):
                return None
        except UsageError as error:
            return StepResult("failed", {}, str(error), moment=frame.moment)
        return StepResult("skipped", {}, moment=frame.moment)

    def execution(self, step: Step, frame: Frame) -> Any:
        """Prepare a leaf for execution."""
        place = StepPlace(
            frame.path(step.id),
            frame.run_id,
            self._project.folder,
            frame.home.folder,
            self._history.execution,
            given_in=frame.home.given_in,
            real_folder=frame.home.real_folder,
            mask=frame.home.mask,
            workspace=self._project.workspace,
        )
        return self.leaves.execution(step, frame, place, self._since(step, frame))

    def _since(self, step: Step, frame: Frame) -> Moment:
        """From when on a record counts: a later execution may have begun again there."""
        return self._since_at(self._order.of(step) if frame.order is None else frame.order, frame)

    def _since_at(self, order: int, frame: Frame) -> Moment:
        again = ((number,) for number, start in self._starts if order >= start)
        return max([frame.since, *again])

    def as_one(self, step: Step, frame: Frame) -> Frame:
        """Where all that is inside a step stands where it stands itself."""
        order = self._order.of(step) if frame.order is None else frame.order
        return msgspec.structs.replace(frame, order=order)

    # -- by kind --------------------------------------------------------------------------------

    async def _executed(self, step: Step, path: str, frame: Frame) -> StepResult:
        if self.leaves.knows(step):
            return await self.leaves.one(self.execution(step, frame))
        frame = frame.absorbing(step)
        if isinstance(step, spec.MapStep) or (step.retry is None and step.timeout is None):
            return await self._inside(step, path, frame)
        return await self._limited(step, path, frame)

    async def _limited(self, step: Step, path: str, frame: Frame) -> StepResult:
        """A step that holds others, with a time-out or further attempts for the whole.

        Another attempt goes on where the one before failed: what was completed in it is recorded.
        """
        digest = "" if step.timeout is None else digest_of_whole(step, frame)
        if (known := self._cut_before(step, path, frame, digest)) is not None:
            return known
        retry = Retry.none() if step.retry is None else step.retry.retry()
        last, made = frame, 0

        async def attempt(_: str) -> dict[str, Any]:
            nonlocal last, made
            made += 1
            last = frame.attempt(made, last=made > retry.times)
            result = await self._inside(step, path, last)
            # A failure from before, which counts, was the end of all attempts there were.
            if result.status == "failed" and result.moment >= last.moment:
                raise StepFailed(result.error or "", msgspec.to_builtins(result))
            return msgspec.to_builtins(result)  # type: ignore[no-any-return]

        outcomes = await fan_out(
            attempt,
            [path],
            cap=1,
            run=self.run,
            name=f"{path} whole",
            key=lambda each: each,
            retry=retry,
            timeout=step.timeout,
            record=False,
        )
        frame.take(last)
        outcome = whole(outcomes)[0]
        if outcome.value is not None:
            result = msgspec.convert(outcome.value, StepResult)
            # What comes after it is of no attempt of its own.
            return msgspec.structs.replace(result, moment=result.moment[: len(frame.moment)])
        if not isinstance(outcome.error, AttemptTimeout):
            return StepResult("failed", {}, str(outcome.error), moment=frame.moment)
        cut = cut_short(path, str(outcome.error), digest, frame, last)
        self._history.cuts[path] = cut
        await self.run.note_on_disk(CUT, msgspec.to_builtins(cut))
        return cut.result

    def _cut_before(self, step: Step, path: str, frame: Frame, digest: str) -> StepResult | None:
        """The time-out that the steps had gone on after, if there was one; else it is forgotten."""
        cut = self._history.cuts.get(path)
        if cut is None:
            return None
        order = self._order.last_inside(step) if frame.order is None else frame.order
        wanted = self.run.retries_failed and cut.moment[0] < self._history.execution
        if wanted or not cut.counts(digest, self._since_at(order, frame), frame.absorbed):
            del self._history.cuts[path]
            self.run.note(CUT_NO_MORE, path)
            return None
        cut.show(frame)
        return cut.result

    async def _inside(self, step: Step, path: str, frame: Frame) -> StepResult:
        try:
            match step:
                case spec.IfStep():
                    return await self._if(step, path, frame)
                case spec.SwitchStep():
                    return await self._switch(step, path, frame)
                case spec.LoopStep():
                    return await self._loop(step, path, frame)
                case spec.FanOutStep():
                    return await fanning.fan_out_step(self, step, path, frame)
                case spec.MapStep():
                    return await fanning.map_step(self, step, path, frame)
                case spec.FanInStep():
                    return self._fan_in(step, frame)
                case spec.WorkflowStep():
                    return await self._workflow(step, path, frame)
        except UsageError as error:  # an expression that cannot be computed
            return StepResult("failed", {}, str(error), moment=frame.moment)
        raise AssertionError(f"nobody executes {type(step).__name__}")

    async def _if(self, step: spec.IfStep, path: str, frame: Frame) -> StepResult:
        holds = truth(step.condition.render(frame.roots()))
        stop = await self.these(step.then if holds else step.else_, frame.within(step, path))
        return _so_far(stop, {"condition_result": holds})

    async def _switch(self, step: spec.SwitchStep, path: str, frame: Frame) -> StepResult:
        value = step.expression.render(frame.roots())
        case = step.case(value)
        steps = step.default if case is None else step.cases[case]
        stop = await self.these(steps, frame.within(step, path))
        output = {"expression_value": value, "matched_case": DEFAULT if case is None else case}
        return _so_far(stop, output)

    async def _loop(self, step: spec.LoopStep, path: str, frame: Frame) -> StepResult:
        stop, done = None, 0
        asks_first = not isinstance(step, spec.DoWhileStep)
        first = goes_on = self._wants_more(step, frame) if asks_first else True
        while goes_on and done < step.max_iterations:
            order = frame.order if frame.order is not None else self._order.last_inside(step)
            stop = await self.these(step.steps, frame.iteration(step, path, done, order))
            done += 1
            if stop is not None:
                break
            goes_on = self._wants_more(step, frame)
        output = {
            "condition_result": first if asks_first else goes_on,
            "iterations": done,
            "max_iterations": step.max_iterations,
            "loop_type": step.type,
        }
        return _so_far(stop, output)

    def _wants_more(self, step: spec.LoopStep, frame: Frame) -> bool:
        return truth(step.condition.render(frame.roots()))

    def _fan_in(self, step: spec.FanInStep, frame: Frame) -> StepResult:
        results = [frame.steps.get(each, {}).get("output", {}) for each in step.wait_for]
        frame.steps.fan_in = {"results": results}
        roots = frame.roots()
        declared = {name: value.render(roots) for name, value in step.output.items()}
        return StepResult("completed", {"results": results, **declared})

    async def _workflow(self, step: spec.WorkflowStep, path: str, frame: Frame) -> StepResult:
        target: LoadedWorkflow = step.target
        given = {name: value.render(frame.roots()) for name, value in step.input.items()}
        home = home_of(target, bind_inputs(target, given), _given_in(step, frame), frame.home.mask)
        inner = frame.of_workflow(step, path, home)
        stop = await self.these(target.steps, inner)
        outputs = {
            each.id: inner.steps[each.id]["output"]
            for each in target.steps
            if each.id in inner.steps
        }
        return _so_far(stop, {"inputs": dict(home.inputs), "steps": outputs})

    async def _after_failure(
        self, step: Step, path: str, frame: Frame, failed: StepResult
    ) -> StepResult:
        """What the file says is to be done then. The failure stays, unless the run must pause."""
        frame.put(step, path, failed)
        inner = frame.absorbing(step).within(step, path)
        # They belong to this failure, not to one before it.
        inner = msgspec.structs.replace(inner, since=max(inner.since, failed.moment))
        stop = await self.these(step.on_failure, inner)
        if stop is None:
            return failed
        if stop.status == "failed":
            error = f"{failed.error}; and then {stop.at}: {stop.error}"
            return msgspec.structs.replace(failed, error=error)
        return stop

    def _note(
        self,
        step: Step,
        path: str,
        frame: Frame,
        result: StepResult,
        began: float,
        *,
        fresh: bool,
    ) -> None:
        """So that people see it later. Once, unless something in it happened anew."""
        if path in self._history.noted and not fresh:
            return
        self._history.noted.add(path)
        noted = StepState(
            path, step.type, result.status, error=result.error, inside=frame.inside, began=began
        )
        self.run.note(STEP, msgspec.to_builtins(noted))


def _so_far(stop: StepResult | None, output: dict[str, Any]) -> StepResult:
    """The result of a step that holds others: what stopped them stops it."""
    if stop is None:
        return StepResult("completed", output)
    return StepResult(stop.status, output, stop.error, stop.at, moment=stop.moment)


def _given_in(step: spec.WorkflowStep, frame: Frame) -> dict[str, int]:
    """An input of another file is given again when one is that its value is made of."""
    known = frame.home.given_in
    found: dict[str, int] = {}
    for name, value in step.input.items():
        used = (path[1] for path in value.names() if path[0] == "inputs" and len(path) > 1)
        found[name] = max((known.get(each, 0) for each in used), default=0)
    return found


def home_of(
    workflow: LoadedWorkflow,
    inputs: Mapping[str, Any],
    given_in: Mapping[str, int],
    mask: Masker,
) -> Home:
    """What the frames of a workflow share."""
    roots = {"inputs": inputs}
    header = workflow.header
    return Home(
        inputs,
        workflow.document.folder,
        None if header.integration is None else header.integration.render(roots),
        None if header.model is None else header.model.render(roots),
        header.options or {},
        workflow.real_folder,
        given_in,
        mask,
    )
