"""`init`: understood, and not provided."""

from __future__ import annotations

from collections.abc import Mapping

from fanwise.errors import StepFailed
from fanwise.workflow.spec.steps import InitStep
from fanwise.workflow.state.frame import Frame
from fanwise.workflow.state.step_result import StepResult
from fanwise.workflow.steps.port import Resolved, StepPlace


class Init:
    """Says so."""

    bounds_itself = False

    def resolve(self, step: InitStep, frame: Frame) -> Resolved:
        """Nothing."""
        return {}

    async def perform(self, step: InitStep, resolved: Resolved, place: StepPlace) -> StepResult:
        """`StepFailed`."""
        raise StepFailed(
            "a step of type init is not provided by fanwise: run `specify init` yourself before, "
            "and leave the step out, or do it in a shell step"
        )

    def needs(self, step: InitStep, resolved: Resolved, place: StepPlace) -> Mapping[str, int]:
        """None."""
        return {}
