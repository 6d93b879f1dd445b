"""Python in a workspace: the project's interpreter and packages, the workspace's own code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from fanwise.workspaces.interpreter import ProjectPython, interpreter_of
from fanwise.workspaces.port import Checkout


def environment(workspace: Checkout, python: ProjectPython | None = None) -> dict[str, str]:
    """What to add to the environment of a program that runs in this workspace, in this use of it.

    The folders of the user's tree that Python imports from, here or by PYTHONPATH, become those
    of the workspace; that also comes before packages that are installed from the user's tree
    (`pip install -e`). `python`: None is that of the project. No compiled files are written:
    their time has whole seconds, and two versions of a file of one size and one second would pass
    for each other.
    """
    python = python or interpreter_of(workspace.users)
    paths = dict.fromkeys(map(str, _import_folders(workspace, python)))
    return {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_CEILING_DIRECTORIES": str(workspace.root.parent),
        **python.variables(),
    }


def _import_folders(workspace: Checkout, python: ProjectPython) -> Iterator[Path]:
    given = [Path(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    ours = sys.path if python.program == sys.executable else []
    for folder in (*given, *(Path(each) for each in (*ours, *python.linked) if each)):
        if (here := _here(workspace, python, folder)) is not None:
            yield here
    for folder in (workspace.path / "src", workspace.path, workspace.root / "src", workspace.root):
        if folder.is_dir():
            yield folder
    yield from (each.absolute() for each in given if _here(workspace, python, each) is None)


def _here(workspace: Checkout, python: ProjectPython, folder: Path) -> Path | None:
    """Where a folder of the user's tree is in the workspace; None if it is not there."""
    actual = folder.resolve()
    packages = python.prefix.resolve()  # a virtual environment is used where it is
    if not actual.is_relative_to(workspace.users) or actual.is_relative_to(packages):
        return None
    here = workspace.root / actual.relative_to(workspace.users)
    return here if here.is_dir() else None
