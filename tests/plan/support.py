"""What the tests of plans as a whole share: repositories, files, and what must not change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fanwise.cli.app import run as run_command_line
from tests.optimize.support import unchanged
from tests.workspaces.support import commit, git, make_repo, write

__all__ = ["commit", "git", "make_repo", "packages", "run_cli", "show", "unchanged", "write"]


def packages(count: int, files: int = 2) -> dict[str, str]:
    """So many packages, each of which becomes a leaf."""
    return {
        f"p{number:02}/m{each}.py": f"VALUE = {number}{each}\n"
        for number in range(count)
        for each in range(files)
    }


def write_plan(folder: Path, **fields: Any) -> Path:
    """A file of a plan, as JSON, which is YAML too."""
    path = folder / "plan.json"
    given = {"goal": "do it", "repo": "repo", "split": {"mode": "directory", "max_files": 2}}
    path.write_text(json.dumps({"plan": {**given, **fields}}, indent=1))
    return path


def show(repo: Path, commit: str, path: str) -> str:
    """A file at a commit."""
    return git(repo, "show", f"{commit}:{path}")


def run_cli(*arguments: str) -> int:
    """The command line in this process; its exit code."""
    return run_command_line(list(arguments))
