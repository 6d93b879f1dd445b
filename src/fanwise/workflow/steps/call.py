"""`call`: a Python function beside the file, or of a package. JSON goes in and comes out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import msgspec

from fanwise.errors import StepFailed
from fanwise.kernel.user_call import perform
from fanwise.specs import function
from fanwise.workflow.spec.steps import CallStep
from fanwise.workflow.state.frame import Frame
from fanwise.workflow.state.step_result import StepResult
from fanwise.workflow.steps.port import Resolved, StepPlace


class CallLeaf:
    """Calls the function; an exception is the step's failure."""

    bounds_itself = False
    needs: Mapping[str, int] = {}

    def resolve(self, step: CallStep, frame: Frame) -> Resolved:
        roots = frame.roots()
        given = {name: value.render(roots) for name, value in step.input.items()}
        return {"call": step.call, "input": given}

    async def perform(self, step: CallStep, resolved: Resolved, place: StepPlace) -> StepResult:
        found = function(step.call, step.where.at("call"))
        value = await perform(partial(found, **resolved["input"]))
        try:
            plain = msgspec.json.decode(msgspec.json.encode(value))
        except (TypeError, ValueError, RecursionError) as error:
            raise StepFailed(f"{step.call} returned what is not JSON: {error}") from error
        return StepResult("completed", plain if isinstance(plain, dict) else {"result": plain})
