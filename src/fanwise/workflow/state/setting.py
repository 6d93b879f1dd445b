"""What surrounds an execution: the project, and what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec


class Setting(msgspec.Struct, frozen=True):
    """What the steps of a run have in common."""

    project: Path
    """Where commands run."""
    compat: bool = False
    """As spec-kit has it: values in `run` are parts of the line."""
    types: Mapping[str, Callable[..., Any]] = {}
    """Types of steps that the project itself has."""
