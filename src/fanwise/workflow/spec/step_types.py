"""Which types of steps there are: those of fanwise, and those that other packages register.

A package says in its `pyproject.toml`:

    [project.entry-points."fanwise.steps"]
    notify = "my_package.notify:notify"
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from fanwise import system_names
from fanwise.errors import UsageError
from fanwise.specs import registry
from fanwise.workflow.spec import steps as spec
from fanwise.workflow.spec.steps import Step

GROUP = "fanwise.steps"
"""The group of entry points."""

BUILT_IN: dict[str, type[Step]] = {
    "command": spec.CommandStep,
    "prompt": spec.PromptStep,
    "shell": spec.ShellStep,
    "init": spec.InitStep,
    "gate": spec.GateStep,
    "if": spec.IfStep,
    "switch": spec.SwitchStep,
    "while": spec.WhileStep,
    "do-while": spec.DoWhileStep,
    "fan-out": spec.FanOutStep,
    "fan-in": spec.FanInStep,
    "workflow": spec.WorkflowStep,
    "slot": spec.SlotStep,
    "map": spec.MapStep,
    "call": spec.CallStep,
    "sample": spec.SystemStep,
    "matrix": spec.SystemStep,
    "plan": spec.SystemStep,
    "optimize": spec.SystemStep,
}


def names(extra: Iterable[str] = ()) -> set[str]:
    """All of them; `extra`: those of the project itself, where it is trusted."""
    return {*BUILT_IN, *registered(), *extra}


@cache
def registered() -> dict[str, set[str]]:
    """Those of other packages, and where each is: more than one place is a quarrel."""
    return system_names.registered(GROUP)


def spec_of(name: str, extra: Iterable[str] = ()) -> type[Step] | None:
    """What a step of that type must look like; None: there is no such type."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    return spec.CustomStep if name in names(extra) else None


def unavailable(name: str) -> str | None:
    """Why a known type cannot be used here, if so."""
    if name not in BUILT_IN and len(registered().get(name, ())) > 1:
        return f"two packages register this type: {', '.join(sorted(registered()[name]))}"
    if BUILT_IN.get(name) is not spec.SystemStep or name not in system_names.BUILT_IN:
        return None
    try:
        registry.system(name)
    except UsageError as error:
        return str(error)
    return None
