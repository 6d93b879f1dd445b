"""Another system of fanwise as a step: sample, matrix, plan, optimize.

It is found in the registry, for systems do not import one another, and executed inside the step's
item: its fan-outs are recorded there, under the version of the step that they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fanwise.errors import StepFailed
from fanwise.kernel.in_run import as_a_part
from fanwise.specs import Document, End, Runnable, read, system
from fanwise.specs.system import runnable_of
from fanwise.view.run_summary import status_text
from fanwise.workflow.spec.steps import SystemStep
from fanwise.workflow.state.frame import Frame
from fanwise.workflow.state.step_result import StepResult
from fanwise.workflow.steps.port import Leaf, Resolved, StepPlace

Literally = Callable[[Mapping[str, Any], Path], Runnable]
"""A system may have a method of this name: fields whose texts are no templates."""
PAUSED = 3
"""The exit code of a plan that waits for somebody."""


class SystemLeaf(Leaf[SystemStep]):
    """Runs the `spec` or the `file` of another system."""

    def resolve(self, step: SystemStep, frame: Frame) -> Resolved:
        """The spec of that system, or its file with a digest."""
        if step.file is not None:
            file = frame.home.folder / step.file
            # With what stands in it: an edited file is another input.
            return {"file": str(file), "digest": read(file).digest}
        assert step.spec is not None
        return {"spec": step.spec.render(frame.roots())}

    async def perform(self, step: SystemStep, resolved: Resolved, place: StepPlace) -> StepResult:
        """Execute it with its own caps and budget."""
        if place.mask.is_in(resolved):
            raise StepFailed(f"it is given a secret, and a step of type {step.type} records that")
        plan = self._plan(step, resolved, place)
        end, _, _ = await as_a_part(
            plan.execute, step.type, caps=plan.caps, budget=plan.budget,
            on=getattr(plan, "on", None), name=place.version,
        )  # fmt: skip
        return _result(end)

    def _plan(self, step: SystemStep, resolved: Resolved, place: StepPlace) -> Runnable:
        found = system(step.type)
        if "file" in resolved:
            return runnable_of(found, read(resolved["file"]), {})
        # Its braces were the workflow's, and what came of them is data: no template once more.
        literally: Literally | None = getattr(found, "literally", None)
        if literally is not None:
            return literally(resolved["spec"], place.folder)
        document = Document(place.path, place.folder, {step.type: resolved["spec"]})
        return runnable_of(found, document, {})


def _result(end: End) -> StepResult:
    output: dict[str, Any] = {"result": end.document, "exit_code": end.exit_code}
    output["stdout"] = "".join(f"{line}\n" for line in end.output)
    output["stderr"] = "".join(f"{line}\n" for line in end.notes)
    if end.exit_code == PAUSED:
        return StepResult("paused", output)
    if end.exit_code != 0 or (end.counts is not None and end.counts.short):
        raise StepFailed(_reason(end), output)
    return StepResult("completed", output)


def _reason(end: End) -> str:
    """What was not done, else the first thing said; of a heading with the first line under it."""
    if end.counts is not None and end.counts.short:
        return status_text("halted", end.counts.short)
    first, under, *_ = [*end.notes, "", ""]
    if first.endswith(":") and under.startswith(" "):
        return f"{first} {under.strip()}"
    return first or f"exit code {end.exit_code}"
