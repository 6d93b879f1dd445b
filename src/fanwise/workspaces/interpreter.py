"""Python in a workspace: the project's own interpreter and packages, with the workspace's code.

A project's commands run with the Python that its user would get in a shell.

Not the Python that fanwise itself is installed in, unless nothing else is found. In this order:
what was named (`--python`), an active virtual environment, `.venv` or `venv` in the project, the
environment of fanwise if that is inside of the project, and `python3` on the PATH.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from fanwise.errors import UsageError
from fanwise.workspaces.port import Checkout

_FOLDERS = (".venv", "venv")
UV_RUN = re.compile(r"^\s*uv\s+run\s+(?:--(?:no-sync|frozen|locked|offline|active|quiet)\s+)*(?!-)")
"""In a workspace `uv run` would make an environment anew, from the network."""


class ProjectPython(NamedTuple):
    """A Python, and how it was found."""

    program: str
    found: str
    base: str = ""
    """The installation that a virtual environment was made from; empty: it is none."""
    linked: tuple[str, ...] = ()
    """Folders elsewhere that its packages are imported from, as of `pip install -e`."""
    importable: tuple[str, ...] = ()
    """What Python imports from `linked` outside of the project. A sandbox shows no more than that:
    these folders are often whole repositories, with keys in `.env` and `.git`. Those inside of the
    project are not needed: a workspace has its own."""

    @property
    def prefix(self) -> Path:
        """The environment that it belongs to."""
        return Path(self.program).parent.parent

    def variables(self) -> dict[str, str]:
        """What makes it the `python` of a shell."""
        path = [str(Path(self.program).parent), os.environ.get("PATH", os.defpath)]
        found = {"PATH": os.pathsep.join(path)}
        return {**found, "VIRTUAL_ENV": str(self.prefix)} if self.base else found

    def __str__(self) -> str:
        return f"{self.program} ({self.found})"


def interpreter_of(project: Path, named: str | None = None) -> ProjectPython:
    """The Python of a project, which is the top of the user's tree. `UsageError`."""
    env = os.environ
    active, uv = env.get("VIRTUAL_ENV"), env.get("UV_PROJECT_ENVIRONMENT")
    return _known(project, named, active, uv, env.get("PATH", os.defpath))


@lru_cache(8)
def _known(project: Path, *where: Any) -> ProjectPython:
    """Everything about it, so that nobody has to look at files again."""
    found = _find(project, *where)
    linked = _linked(found.prefix)
    importable = [each for folder in linked for each in _importable(Path(folder), project)]
    return found._replace(
        base=_base(found.prefix), linked=tuple(linked), importable=tuple(importable)
    )


def _base(prefix: Path) -> str:
    try:
        lines = (prefix / "pyvenv.cfg").read_text().splitlines()
    except OSError:
        return ""
    homes = [line.partition("=")[2].strip() for line in lines if line.startswith("home")]
    return str(Path(homes[0]).parent) if homes else ""


def _linked(prefix: Path) -> list[str]:
    found: dict[str, None] = {}
    for file in sorted(prefix.glob("lib/python3*/site-packages/*.pth")):
        for line in file.read_text(errors="replace").splitlines():
            if line.startswith("/") and Path(line).is_dir():
                found[line] = None
    return list(found)


def _importable(folder: Path, project: Path) -> Iterator[str]:
    """The modules and packages of a folder; none of a whole home, nor of the project."""
    home, users = Path.home().resolve(), project.resolve()
    if home.is_relative_to(folder.resolve()):
        return
    for each in sorted(folder.iterdir()):
        actual = each.resolve()
        inside = actual.is_relative_to(users) or users.is_relative_to(actual)
        if not inside and not home.is_relative_to(actual) and _is_importable(each):
            yield str(each)


def _is_importable(path: Path) -> bool:
    if path.is_dir():
        named = path.name.isidentifier() and any(
            True for found in ("*.py", "*.so", "*/*.py") for _ in path.glob(found)
        )
        return named or path.name.endswith((".egg-info", ".dist-info"))
    return path.suffix in (".py", ".so")


def _find(
    project: Path, named: str | None, active: str | None, uv: str | None, path: str
) -> ProjectPython:
    if named is not None:
        return _named(project, named)
    if active and (program := _in(Path(active))):
        return ProjectPython(program, "the active virtual environment")
    for name in (*filter(None, [uv]), *_FOLDERS):
        if program := _in(project / name):
            return ProjectPython(program, f"{name} of the project")
    if sys.prefix != sys.base_prefix and Path(sys.prefix).is_relative_to(project):
        return ProjectPython(sys.executable, "the environment that fanwise is installed in")
    for name in ("python3", "python"):
        if (there := shutil.which(name, path=path)) and (actual := _actual(there)):
            return ProjectPython(actual, f"{name} on the PATH")
    return ProjectPython(sys.executable, "the Python that runs fanwise")


def _named(project: Path, named: str) -> ProjectPython:
    given = project / Path(named).expanduser()
    program = _in(given) or shutil.which(str(given) if "/" in named else named)
    if program is None:
        raise UsageError(f"there is no Python at {named!r}", "Give a program or an environment")
    return ProjectPython(_actual(program) or program, "as it was given")


def _in(folder: Path) -> str:
    program = folder / "bin" / "python"
    return str(program) if program.exists() and os.access(program, os.X_OK) else ""


def _actual(program: str) -> str:
    """The program itself; of a script that chooses one, such as pyenv's, its choice."""
    if _first_bytes(program) != b"#!":
        return program
    argv = [program, "-I", "-c", "import sys; print(sys.executable)"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _first_bytes(program: str) -> bytes:
    with Path(program).open("rb") as file:
        return file.read(2)


# -- the environment of a program in a workspace ------------------------------------------------


def environment(workspace: Checkout, python: ProjectPython | None = None) -> dict[str, str]:
    """What to add to the environment of a program that runs in this workspace, in this use of it.

    The folders of the user's tree that Python imports from, here or by PYTHONPATH, become those
    of the workspace; that also comes before packages that are installed from the user's tree
    (`pip install -e`). `python`: None is that of the project. No compiled files are written:
    their time has whole seconds, and two versions of a file of one size and one second would pass
    for each other. Nobody is there to type: git starts no editor, and asks for no password.
    """
    python = python or interpreter_of(workspace.users)
    paths = dict.fromkeys(map(str, _import_folders(workspace, python)))
    return {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_CEILING_DIRECTORIES": str(workspace.root.parent),
        "GIT_EDITOR": ":",
        "GIT_TERMINAL_PROMPT": "0",
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
