"""`map`: the command for one item. No shell is in between, so an item is data however it reads."""

from __future__ import annotations

from collections.abc import Mapping

from fanwise.processes import Command
from fanwise.workflow.spec.steps import EachStep
from fanwise.workflow.state.frame import Frame
from fanwise.workflow.state.step_result import StepResult
from fanwise.workflow.steps.child import KEEP, run_child
from fanwise.workflow.steps.port import Resolved, StepPlace


class Each:
    """Runs it."""

    bounds_itself = True

    def resolve(self, step: EachStep, frame: Frame) -> Resolved:
        """Its arguments, each a text whatever its value was."""
        roots = frame.roots()
        return {"argv": [text.quoted_render(roots, str) for text in step.argv]}

    async def perform(self, step: EachStep, resolved: Resolved, place: StepPlace) -> StepResult:
        """Run it, in the project's folder."""
        command = Command(
            *resolved["argv"],
            cwd=str(place.project),
            env={"SPECKIT_WORKFLOW_DIR": str(place.folder)},
            keep=KEEP,
            check=False,
        )
        return StepResult("completed", await run_child(command, step.timeout))

    def needs(self, step: EachStep, resolved: Resolved, place: StepPlace) -> Mapping[str, int]:
        """None of its own."""
        return {}
