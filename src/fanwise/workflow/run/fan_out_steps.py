"""A fan-out: each item the template once, as an item of the kernel.

Where the template is a leaf, the item is that leaf. Where it holds other steps, the item is the
whole of them, and its leaves are recorded inside it; on a resume it is gone through again, and
finds them. Either way the kernel judges the item as a whole, in item order: so the results up to a
halt are those that one item after the other would have given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from fanwise.core.halt import Halt
from fanwise.core.outcome import Outcome, Outcomes
from fanwise.errors import StepFailed, UsageError
from fanwise.kernel.fan_out import fan_out
from fanwise.workflow.expressions import Text, Value
from fanwise.workflow.run.leaves import LeafExecution, result_of, whole
from fanwise.workflow.spec.steps import FanOutStep, GateStep, MapStep, Step, SystemStep
from fanwise.workflow.state.frame import Frame, States
from fanwise.workflow.state.step_result import Moment, StepResult

if TYPE_CHECKING:
    from fanwise.workflow.run.interpreter import Interpreter


async def fan_out_step(
    engine: Interpreter, step: FanOutStep, path: str, frame: Frame
) -> StepResult:
    fan = _Fan(engine, step, step.step, f"{path}:{step.step.id}", path, frame)
    return await _fanned(fan, step, frame, items_of(step, step.items, frame.roots()))


async def map_step(engine: Interpreter, step: MapStep, path: str, frame: Frame) -> StepResult:
    """Execute a map: a fan-out whose template is a command."""
    items = _lines(step, frame) if step.items is None else items_of(step, step.items, frame.roots())
    fan = _Fan(engine, step, step.each, path, path, engine.as_one(step, frame))
    return await _fanned(fan, step, frame, items)


async def _fanned(
    fan: _Fan, step: FanOutStep | MapStep, frame: Frame, items: list[Any]
) -> StepResult:
    cap = cap_of(step, frame.roots())
    results = await fan.out(items, cap)
    output = {
        "items": items,
        "max_concurrency": cap,
        "item_count": len(items),
        "results": [result.output for result in results],
    }
    stops = [result for result in results if not result.goes_on]
    if not stops:
        return StepResult("completed", output)
    # With `halt: never` failures may stand before what made the run pause.
    stop = next((result for result in stops if result.status != "failed"), stops[0])
    return StepResult(stop.status, output, stop.error, stop.at, moment=stop.moment)


def items_of(step: Step, items: Value, roots: Mapping[str, Any]) -> list[Any]:
    """The items. `UsageError`."""
    found = items.render(roots)
    if found is None:
        raise UsageError(f"the items of {step.id!r} are not there: {items.source}")
    if not isinstance(found, list):
        raise UsageError(f"the items of {step.id!r} are a {type(found).__name__}, not a list")
    return found


def _lines(step: MapStep, frame: Frame) -> list[Any]:
    """An empty line is a line; the end of the last one begins no other."""
    assert step.lines is not None
    found = step.lines.render(frame.roots())
    if not isinstance(found, str):
        kind = "not there" if found is None else f"a {type(found).__name__}, not text"
        raise UsageError(f"the lines of {step.id!r} are {kind}: {step.lines.source}")
    lines = found.split("\n")
    return lines if lines[-1] else lines[:-1]


def cap_of(step: FanOutStep | MapStep, roots: Mapping[str, Any]) -> int:
    """How many items may be at work. `UsageError`."""
    width = step.max_concurrency
    if isinstance(width, int):
        return width
    assert isinstance(width, Text)
    found = width.render(roots)
    number = _whole(found)
    if number is None or number < 1:
        raise UsageError(
            f"max_concurrency of {step.id!r} is {found!r}, not a whole number of at least 1: "
            f"{width.source}"
        )
    return number


def _whole(found: Any) -> int | None:
    """A whole number, also if it is given as text."""
    if isinstance(found, str):
        try:
            return int(found)
        except ValueError:
            return None
    if isinstance(found, float):
        return int(found) if found.is_integer() else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


class _Fan:
    """One execution of a fan-out."""

    def __init__(
        self,
        engine: Interpreter,
        step: FanOutStep | MapStep,
        template: Step,
        named: str,
        path: str,
        frame: Frame,
    ) -> None:
        self._engine = engine
        self._step = step
        self._path = path
        self._template = template
        self._named = named
        """The prefix of the paths of its items."""
        self._items: list[Any] = []
        self._frame = frame
        self._states: dict[int, States] = {}
        # A gate may pause: that is more than a leaf alone can say of an item.
        leaf = engine.leaves.knows(template) and not isinstance(template, GateStep)
        self._is_leaf = leaf and not template.on_failure and template.if_ is None
        halts = step.halt == "failure" and not template.continue_on_error
        if step.continue_on_error and "halt" not in step.model_fields_set:
            halts = False  # failures are results like others
        self._halts_on_failure = halts

    async def out(self, items: list[Any], cap: int) -> list[StepResult]:
        """Execute the template for each item; returns the results up to a halt."""
        self._items = items
        return await (self._leaves(cap) if self._is_leaf else self._whole(cap))

    def _whole_path(self, number: int) -> str:
        return f"{self._named}:{number}"

    def _of_item(self, number: int) -> Frame:
        frame = self._frame.of_item(
            self._step, self._path, self._template, self._whole_path(number), self._items[number]
        )
        self._states[number] = frame.states
        return frame

    def _halts(self, outcome: Outcome[Any]) -> bool:
        if outcome.status == "failed":
            return self._halts_on_failure
        if outcome.status != "done" or not isinstance(outcome.value, dict):
            return False
        return outcome.value["status"] in ("paused", "aborted")

    async def _leaves(self, cap: int) -> list[StepResult]:
        """Execute items that are leaves."""
        template = self._template
        outcomes = await self._engine.leaves.many(
            self._executions(), template, cap=cap, name=self._path, halt=self._leaf_halt()
        )
        results = [
            self._judged(result_of(each, self._frame.moment), n) for n, each in enumerate(outcomes)
        ]
        return self._published(results)

    def _leaf_halt(self) -> Halt:
        """Where the status alone says it, the next start need not wait for this end on disk."""
        if isinstance(self._template, SystemStep):
            return Halt.when(self._halts)  # it may pause
        return Halt.on_failure() if self._halts_on_failure else Halt.never()

    def _executions(self) -> Iterator[LeafExecution]:
        for number in range(len(self._items)):
            yield self._engine.execution(self._template, self._of_item(number))

    def _judged(self, result: StepResult, number: int) -> StepResult:
        template, frame = self._template, self._of_item(number)
        absorbed = result.status == "failed" and template.continue_on_error
        path = frame.path(template.id)
        result = msgspec.structs.replace(result, absorbed=absorbed, at=path)
        frame.put(template, path, result)
        return result

    async def _whole(self, cap: int) -> list[StepResult]:
        """Execute items that are steps with others inside."""
        outcomes: Outcomes[Any] = whole(
            await fan_out(
                self._one,
                range(len(self._items)),
                cap=cap,
                run=self._engine.run,
                name=self._path,
                key=self._whole_path,
                halt=Halt.when(self._halts),
                record=False,
            )
        )
        return self._published([_result(outcome, self._frame.moment) for outcome in outcomes])

    async def _one(self, number: int) -> dict[str, Any]:
        result = await self._engine.step(self._template, self._of_item(number))
        plain: dict[str, Any] = msgspec.to_builtins(result)
        if result.goes_on or result.status != "failed":
            return plain
        raise StepFailed(result.error or "", plain)

    def _published(self, results: list[StepResult]) -> list[StepResult]:
        """Make the results available to later expressions: `steps.each:review:3`."""
        for number, result in enumerate(results):
            path = self._whole_path(number)
            seen = {"id": path, "status": result.status, "output": result.output}
            self._frame.steps[path] = {**seen, "error": result.error}
            self._frame.states.update(self._states[number])
        return results


def _result(outcome: Outcome[Any], now: Moment) -> StepResult:
    if isinstance(outcome.value, dict):
        return msgspec.convert(outcome.value, StepResult)
    return result_of(outcome, now)
