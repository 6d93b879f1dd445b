"""The names of all systems, without importing them.

Separate from `specs/registry.py`, because `fanwise runs` must not import everything that reads
files just to learn that a run belongs to no system.
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
    """Where the system is; more than one if several packages register the name."""
    return {BUILT_IN[name]} if name in BUILT_IN else registered().get(name, set())


def load(value: str) -> Any:
    """Import `package.module:SYSTEM`. Raises whatever the import raises."""
    module, _, attribute = value.partition(":")
    return getattr(import_module(module), attribute)


def registered(group: str = GROUP) -> dict[str, set[str]]:
    """What other packages register, by name, and where each is: their systems."""
    from importlib.metadata import entry_points

    found: dict[str, set[str]] = {}
    for point in entry_points(group=group):
        found.setdefault(point.name, set()).add(point.value)
    return found
