"""Which systems there are, by name, without importing any.

Apart from `specs.registry`, which loads them: to know that a run was made by no system must not
cost the import of all that reads files.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

GROUP = "fanwise.systems"
"""The group of entry points: the name is the system's, the value `package.module:SYSTEM`."""

BUILT_IN = {
    "map": "fanwise.lines.system:SYSTEM",
    "sample": "fanwise.sampling.system:SYSTEM",
    "matrix": "fanwise.matrix.system:SYSTEM",
    "workflow": "fanwise.workflow.system:SYSTEM",
    "plan": "fanwise.plan.system:SYSTEM",
    "optimize": "fanwise.optimize.system:SYSTEM",
}


def homes(name: str) -> set[str]:
    """Where the system of that name is; more than one: they contradict each other."""
    return {BUILT_IN[name]} if name in BUILT_IN else registered().get(name, set())


def load(value: str) -> Any:
    """What `package.module:SYSTEM` names. Whatever the import raises."""
    module, _, attribute = value.partition(":")
    return getattr(import_module(module), attribute)


def registered() -> dict[str, set[str]]:
    """Those of other packages."""
    from importlib.metadata import entry_points

    found: dict[str, set[str]] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, set()).add(point.value)
    return found
