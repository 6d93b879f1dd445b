"""Where a step is executed: what its expressions see, and how its path is made.

A frame is handed down and never up. Each item of a fan-out has one of its own, in a layer over
that of the fan-out: what its steps put there nobody else sees, so that items cannot disturb each
other, and two items' steps of the same id do not collide.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from fanwise.processes.mask import Masker
from fanwise.workflow.expressions.evaluate import SECRETS
from fanwise.workflow.spec.steps import Step
from fanwise.workflow.state.run_state import StepState
from fanwise.workflow.state.step_result import Moment, StepResult

NO_SECRETS = Masker(())
States = dict[str, StepState]
Namer = Callable[[str], str]
"""From the id of a step to its path in the execution."""


class Layer(ChainMap[str, Any]):
    """What steps have given, by id and path; what is not here may be in the layer below."""

    def __init__(self, below: Layer | None = None) -> None:
        super().__init__({}, *(() if below is None else below.maps))
        self.fan_in: dict[str, Any] | None = None if below is None else below.fan_in
        """The results of the last fan-in."""


class Home(msgspec.Struct, frozen=True):
    """The workflow that a step belongs to: what all its frames share."""

    inputs: Mapping[str, Any]
    folder: Path
    """Of its file."""
    integration: str | None
    model: str | None
    options: Mapping[str, Any]
    real_folder: str = ""
    """The same, links resolved."""
    given_in: Mapping[str, int] = {}
    """In which execution of the run each input was last given; of others: in the first."""
    mask: Masker = NO_SECRETS


class Frame(msgspec.Struct, frozen=True):
    """Where a step is executed."""

    home: Home
    run_id: str
    steps: Layer
    path: Namer
    bare: Namer
    """As `path`, without the number of an iteration: where the latest is found."""
    states: States
    """What came of the steps in here, by path, for people to see."""
    inside: str = ""
    """The path of the enclosing step."""
    file: str = ""
    """The ids of the steps that include the file, `sub:`; empty: it is the run's own."""
    item: Any = None
    needs: Mapping[str, int] = {}
    """The caps that each leaf in here needs besides its own."""
    moment: Moment = (0,)
    settled: int = 1
    """From this place of the moment on, no further attempt follows."""
    absorbed: int = 0
    """What fails in here does not stop what comes after some step around: so long is the moment
    of the innermost such step, and while it lasts the failure is final. 0: there is none."""
    since: Moment = ()
    """Older records do not count here."""
    ended: Mapping[str, Any] = {}
    """In the steps of `on_end`: the `status` and `error` with which the steps before ended."""
    order: int | None = None
    """The place in the file that counts for steps in here; None: their own."""

    def roots(self) -> dict[str, Any]:
        """The names that expressions see."""
        context = {"run_id": self.run_id, "workflow_dir": self.home.real_folder, **self.ended}
        return {
            "inputs": self.home.inputs,
            "steps": self.steps,
            "item": self.item,
            "fan_in": self.steps.fan_in,
            "context": context,
            SECRETS: self.home.mask.is_in,
        }

    def put(self, step: Step, path: str, result: StepResult) -> None:
        """Make the result of a step visible to later expressions."""
        seen = {"id": path, "status": result.status, "output": result.output, "error": result.error}
        self.steps[path] = self.steps[step.id] = seen
        self.states[path] = self.states[self.bare(step.id)] = StepState(
            path, step.type, result.status, result.output, result.error, self.inside
        )

    def within(self, step: Step, path: str) -> Frame:
        """The frame for the steps inside a step."""
        return msgspec.structs.replace(
            self,
            inside=path,
            needs=more_needs(self.needs, step.needs),
        )

    def iteration(self, step: Step, path: str, number: int, order: int | None) -> Frame:
        """For the steps of a loop, for the `number`th time, counted from 0."""
        frame = self.within(step, path)
        if number == 0:
            return frame
        return msgspec.structs.replace(
            frame, path=lambda id_: f"{path}:{id_}:{number}", bare=self.bare, order=order
        )

    def of_item(self, step: Step, path: str, template: Step, whole: str, item: Any) -> Frame:
        """For the template of a fan-out, at one item, and all that is inside it.

        `whole`: the path of that item.

        Its states are its own too: of what was in flight behind a halt, none are kept.
        """

        def name(id_: str) -> str:
            return whole if id_ == template.id else f"{whole}:{id_}"

        return msgspec.structs.replace(
            self.within(step, path),
            steps=Layer(self.steps),
            states={},
            path=name,
            bare=name,
            item=item,
        )

    def absorbing(self, step: Step) -> Frame:
        """For a step, all attempts at it, and what is done after its failure."""
        if not step.continue_on_error:
            return self
        return msgspec.structs.replace(self, absorbed=len(self.moment))

    def attempt(self, number: int, *, last: bool) -> Frame:
        """For one attempt at a step with all that is in it, which sees nothing of those before."""
        return msgspec.structs.replace(
            self,
            steps=Layer(self.steps),
            states={},
            moment=(*self.moment, number),
            settled=self.settled if last else len(self.moment) + 1,
        )

    def take(self, attempt: Frame) -> None:
        """Take over the results of the attempt that counts."""
        self.steps.update(attempt.steps.maps[0])
        self.steps.fan_in = attempt.steps.fan_in
        self.states.update(attempt.states)

    def of_workflow(self, step: Step, path: str, home: Home) -> Frame:
        """The frame for the steps of an included file."""

        def name(id_: str) -> str:
            return f"{path}:{id_}"

        return msgspec.structs.replace(
            self.within(step, path),
            home=home,
            steps=Layer(),
            path=name,
            bare=name,
            item=None,
            file=f"{self.file}{step.id}:",
        )


def more_needs(some: Mapping[str, int], others: Mapping[str, int]) -> Mapping[str, int]:
    return {**some, **others} if others else some
