"""The settings for running untrusted code."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from fanwise.processes import PLAIN, Limits
from fanwise.workspaces import ProjectPython

MB = 1 << 20
LIMITS = Limits(memory=4096 * MB, processes=256, file_size=256 * MB, output=64 * MB)
"""Enough for tests, but not for a program that runs wild."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What untrusted code may use, and its environment."""

    timeout_s: float = 600.0
    limits: Limits = LIMITS
    sandbox: bool = True
    """No network, and nothing is seen but the system, the interpreter and the workspace."""
    readable: tuple[str, ...] = ()
    """More files and folders that can be seen."""
    python: ProjectPython | None = None
    """The Python of the commands, and of the shell that they run in; None: that of the project."""
    inherit: tuple[str, ...] = PLAIN
    """Environment variables that are passed on. All others are not, as they may hold keys."""
    env: Mapping[str, str] = {}
    """More variables, which tests need."""
