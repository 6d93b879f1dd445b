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
from fanwise.workflow.spec.steps import (
    CallStep,
    CommandStep,
    CustomStep,
    DoWhileStep,
    FanInStep,
    FanOutStep,
    GateStep,
    IfStep,
    InitStep,
    MapStep,
    PromptStep,
    ShellStep,
    SlotStep,
    Step,
    SwitchStep,
    SystemStep,
    WhileStep,
    WorkflowStep,
)

GROUP = "fanwise.steps"
"""The group of entry points."""

BUILT_IN: dict[str, type[Step]] = {
    "command": CommandStep,
    "prompt": PromptStep,
    "shell": ShellStep,
    "init": InitStep,
    "gate": GateStep,
    "if": IfStep,
    "switch": SwitchStep,
    "while": WhileStep,
    "do-while": DoWhileStep,
    "fan-out": FanOutStep,
    "fan-in": FanInStep,
    "workflow": WorkflowStep,
    "slot": SlotStep,
    "map": MapStep,
    "call": CallStep,
    "sample": SystemStep,
    "matrix": SystemStep,
    "plan": SystemStep,
    "optimize": SystemStep,
}


def names(extra: Iterable[str] = ()) -> set[str]:
    """All of them; `extra`: those of the project itself, where it is trusted."""
    return {*BUILT_IN, *registered(), *extra}


def registered() -> dict[str, str]:
    """Those of other packages, and where each is: `package.module:name`."""
    return {name: values[0] for name, values in claims().items()}


@cache
def claims() -> dict[str, tuple[str, ...]]:
    """All that other packages register, by name: more than one value is a quarrel."""
    from importlib.metadata import entry_points

    found: dict[str, set[str]] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, set()).add(point.value)
    return {name: tuple(sorted(values)) for name, values in found.items()}


def spec_of(name: str, extra: Iterable[str] = ()) -> type[Step] | None:
    """What a step of that type must look like; None: there is no such type."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    return CustomStep if name in names(extra) else None


def unavailable(name: str) -> str | None:
    """Why a known type cannot be used here, if so."""
    if name not in BUILT_IN and len(claims().get(name, ())) > 1:
        return f"two packages register this type: {', '.join(claims()[name])}"
    if BUILT_IN.get(name) is not SystemStep or name not in system_names.BUILT_IN:
        return None
    try:
        registry.system(name)
    except UsageError as error:
        return str(error)
    return None
