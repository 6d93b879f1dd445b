"""Which kind of step is performed by what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
from fanwise.workflow.state.history import RunHistory
from fanwise.workflow.state.setting import Setting
from fanwise.workflow.steps.agent import AgentCommand, AgentPrompt, Agents
from fanwise.workflow.steps.custom import Custom
from fanwise.workflow.steps.each import Each
from fanwise.workflow.steps.gate import Ask, Gate
from fanwise.workflow.steps.init import Init
from fanwise.workflow.steps.port import Leaf
from fanwise.workflow.steps.shell import Shell
from fanwise.workflow.steps.system import System


def kinds(setting: Setting, history: RunHistory, ask: Ask | None) -> Mapping[type[Step], Leaf[Any]]:
    """All leaves. `ask`: how somebody is asked; None: nobody is there."""
    agents = Agents(setting.project)
    return {
        ShellStep: Shell(compat=setting.compat),
        CommandStep: AgentCommand(agents),
        PromptStep: AgentPrompt(agents),
        GateStep: Gate(history.answers, history.taken, ask),
        InitStep: Init(),
        SystemStep: System(),
        EachStep: Each(),
        CustomStep: Custom(setting.types),
    }
