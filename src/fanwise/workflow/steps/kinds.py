"""What performs each kind of leaf step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from fanwise.errors import StepFailed
from fanwise.workflow.spec.steps import (
    CommandStep,
    CustomStep,
    EachStep,
    GateStep,
    InitStep,
    PromptStep,
    ShellStep,
    Step,
    SystemStep,
)
from fanwise.workflow.state.frame import Frame
from fanwise.workflow.state.history import RunHistory
from fanwise.workflow.state.step_result import StepResult
from fanwise.workflow.steps.agent import Agents, CommandLeaf, PromptLeaf
from fanwise.workflow.steps.custom import CustomLeaf, Function
from fanwise.workflow.steps.gate import Ask, GateLeaf
from fanwise.workflow.steps.port import Leaf, Resolved, StepPlace
from fanwise.workflow.steps.shell import MapLeaf, ShellLeaf
from fanwise.workflow.steps.system import SystemLeaf


class Project(msgspec.Struct, frozen=True):
    """Where a workflow runs, and what that place adds to it."""

    folder: Path
    """Where commands run."""
    compat: bool = False
    """As in spec-kit, values in `run` become parts of the shell line."""
    types: Mapping[str, Function] = {}
    """The project's own types of steps."""


class InitLeaf:
    """`specify init`: part of spec-kit's files, but not provided by fanwise."""

    bounds_itself = False
    needs: Mapping[str, int] = {}

    def resolve(self, step: InitStep, frame: Frame) -> Resolved:
        return {}

    async def perform(self, step: InitStep, resolved: Resolved, place: StepPlace) -> StepResult:
        raise StepFailed(
            "steps of type init are not provided by fanwise: run `specify init` first and remove "
            "the step, or do it in a shell step"
        )


def kinds(project: Project, history: RunHistory, ask: Ask | None) -> Mapping[type[Step], Leaf[Any]]:
    """What performs each kind of leaf. `ask`: asks the user; None: nobody is at the terminal."""
    agents = Agents(project.folder)
    return {
        ShellStep: ShellLeaf(compat=project.compat),
        CommandStep: CommandLeaf(agents),
        PromptStep: PromptLeaf(agents),
        GateStep: GateLeaf(history.answers, history.taken, ask),
        InitStep: InitLeaf(),
        SystemStep: SystemLeaf(),
        EachStep: MapLeaf(),
        CustomStep: CustomLeaf(project.types),
    }
