"""The environment of a run, recorded so that two runs can be compared later.

Package versions, the commit of the folder, and whether it has changes. No environment variables:
they may hold keys.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

GIT_S = 5.0
"""So that a repository on a sleeping network drive does not hold up a run."""


def environment(folder: Path) -> dict[str, Any]:
    """The environment as plain data; `git` is None outside a repository."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": packages(),
        "command": Path(sys.argv[0]).name,
        "git": git(folder),
    }


@cache
def packages() -> dict[str, str]:
    found: dict[str, str] = {}
    for each in metadata.distributions():
        name = each.name
        if name:
            found.setdefault(name, each.version)
    return dict(sorted(found.items()))


def git(folder: Path) -> dict[str, Any] | None:
    """The commit that is checked out there, and whether tracked files differ from it."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def _git(folder: Path, *args: str) -> str | None:
    # Without optional locks, so that looking does not touch the index of the user's repository.
    command = ["git", "--no-optional-locks", *args]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=GIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
