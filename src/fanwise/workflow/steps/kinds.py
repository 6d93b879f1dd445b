"""What performs each kind of leaf step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from fanwise.workflow.spec import steps as spec
from fanwise.workflow.spec.steps import Step
from fanwise.workflow.state.history import RunHistory
from fanwise.workflow.steps.agent import AgentLeaf, Agents
from fanwise.workflow.steps.functions import CallLeaf, CustomLeaf, Function
from fanwise.workflow.steps.gate import Ask, GateLeaf
from fanwise.workflow.steps.init import InitLeaf
from fanwise.workflow.steps.port import Leaf
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
    workspace: Mapping[str, str] | None = None
    """If it is a workspace: the variables of commands, of which nothing stays there."""


def kinds(project: Project, history: RunHistory, ask: Ask | None) -> Mapping[type[Step], Leaf[Any]]:
    """What performs each kind of leaf. `ask`: asks the user; None: nobody is at the terminal."""
    agent = AgentLeaf(Agents(project.folder))
    return {
        spec.ShellStep: ShellLeaf(compat=project.compat),
        spec.CommandStep: agent,
        spec.PromptStep: agent,
        spec.GateStep: GateLeaf(history.answers, history.taken, ask),
        spec.InitStep: InitLeaf(),
        spec.SystemStep: SystemLeaf(),
        spec.EachStep: MapLeaf(),
        spec.CallStep: CallLeaf(),
        spec.CustomStep: CustomLeaf(project.types),
    }
