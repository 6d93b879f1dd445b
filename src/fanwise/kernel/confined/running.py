"""How all untrusted code is run: candidates, and code that agents wrote.

- Its environment has only the variables on a list, and no keys.
- Its home and its folder for temporary files belong to this one run, so that the next one finds
  nothing in them.
- Everything it can use is limited.
- It runs in a sandbox without network, in which only the workspace and that folder are writable.

The original code runs in the same way, so that both may do the same.
"""

from __future__ import annotations

import site
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

import msgspec

from fanwise.kernel.confined.settings import MB, Settings
from fanwise.kernel.in_thread import thread_context
from fanwise.processes import Command, CommandResult, Sandbox, run_command
from fanwise.processes.visible import interpreter
from fanwise.workspaces import ProjectPython, Workspace, environment, interpreter_of
from fanwise.workspaces.folders import make_writable, remove_tree

KEEP = 1 * MB


def scratch_folder(workspace: Workspace) -> AbstractAsyncContextManager[Path]:
    """A folder for one use, which is always removed afterwards."""
    return scratch_beside(workspace.root)


def scratch_beside(root: Path | None) -> AbstractAsyncContextManager[Path]:
    """A folder for one use, for the home and temporary files; None: in the temporary folder.

    It is beside the workspace, so that it is removed with the pool if we are killed.
    """
    return thread_context(_scratch(root))


@contextmanager
def _scratch(root: Path | None) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir=None if root is None else _place_beside(root)))
    try:
        for name in ("home", "tmp"):
            (folder / name).mkdir()
        yield folder
    finally:
        make_writable(folder)
        remove_tree(folder)


def _place_beside(root: Path) -> Path:
    place = root.with_name(f"{root.name}-scratch")
    place.mkdir(exist_ok=True)
    place.chmod(0o700)  # whatever a run before has made of it
    return place


async def run_in_workspace(
    workspace: Workspace,
    command: str | Sequence[str],
    settings: Settings,
    *,
    scratch: Path,
    env: Mapping[str, str] | None = None,
    readable: Sequence[str] = (),
    stdin: bytes | None = None,
    timeout: float | None = None,
) -> CommandResult:
    """Run a line of shell, or a program with its arguments, in the workspace.

    `scratch`: a `scratch_folder`. `env`: additional variables. `readable`: what the sandbox has to
    show. `timeout`: for this run, if it is shorter than that of the settings.
    """
    made = command_in_workspace(
        workspace, command, settings, scratch=scratch, env=env, readable=readable, stdin=stdin
    )
    return await run_command(made, timeout=seconds_for(settings, timeout))


def seconds_for(settings: Settings, timeout: float | None) -> float:
    """How long one run may take, in seconds."""
    return min(timeout or settings.timeout_s, settings.timeout_s)


def command_in_workspace(
    workspace: Workspace,
    command: str | Sequence[str],
    settings: Settings,
    *,
    scratch: Path,
    env: Mapping[str, str] | None = None,
    readable: Sequence[str] = (),
    values: Sequence[str] = (),
    stdin: bytes | None = None,
) -> Command:
    """The command of `run_in_workspace`. `values`: the parameters of a line of shell."""
    python = settings.python or interpreter_of(workspace.users)
    return confined(
        command, msgspec.structs.replace(settings, python=python),
        scratch=scratch, cwd=str(workspace.path), around=environment(workspace, python),
        env=env or {},
        writable=(str(workspace.root),), readable=(*workspace.readable, *readable),
        values=values, stdin=stdin,
    )  # fmt: skip


def confined(
    command: str | Sequence[str],
    settings: Settings,
    *,
    scratch: Path,
    cwd: str,
    around: Mapping[str, str],
    env: Mapping[str, str],
    writable: Sequence[str],
    readable: Sequence[str],
    values: Sequence[str] = (),
    stdin: bytes | None = None,
    keep: int = KEEP,
) -> Command:
    """A command for a line of shell, or a program with its arguments, confined as described above.

    `around`: the environment of the workspace, to which `env` is added. `writable` and `readable`:
    for the sandbox; `scratch` is both. `values`: the parameters of a line of shell.
    """
    seen = (*readable, *_of_python(settings.python), *settings.readable)
    box = Sandbox(writable=(*writable, str(scratch)), readable=seen)
    words = [command, *values] if isinstance(command, str) else command
    return Command(
        *words,
        shell=isinstance(command, str),
        stdin=stdin,
        cwd=cwd,
        env={**around, **own_environment(scratch, settings), **env},
        keep=keep,
        check=False,
        inherit=settings.inherit,
        limits=settings.limits,
        sandbox=box if settings.sandbox else False,
    )


def _of_python(python: ProjectPython | None) -> list[str]:
    """What has to be seen of an interpreter, and of the packages in the user's home."""
    found = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    if python is None:
        return found
    seen = interpreter(python.program, str(python.prefix), python.base)
    return [*found, *seen, *python.importable]


def own_environment(scratch: Path, settings: Settings) -> dict[str, str]:
    """The environment of one run: its home, its temporary folder, and that of the settings."""
    own = {"HOME": str(scratch / "home"), "TMPDIR": str(scratch / "tmp")}
    if settings.sandbox:
        own["TMPDIR"] = "/tmp"  # its own, bounded, and short enough for the names of sockets
    if site.ENABLE_USER_SITE:
        own["PYTHONUSERBASE"] = site.getuserbase()  # packages that are in the real home
    python = {} if settings.python is None else settings.python.variables()
    return {**own, **python, **settings.env}
