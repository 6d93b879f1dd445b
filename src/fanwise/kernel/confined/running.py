"""The one way in which code that nobody has read is run: of candidates, of what agents wrote.

Its environment has what is on the list and no keys; its home and its folder for temporary files
are of this one run, so that nothing that it leaves there is found by the next; all that it may
take has a limit; and around it is a sandbox, in which only the workspace and that folder can be
written and there is no network. The same for the original: what it may not do, nobody may.
"""

from __future__ import annotations

import site
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

from fanwise.kernel.confined.settings import MB, Settings
from fanwise.kernel.in_thread import thread_context
from fanwise.processes import Command, CommandResult, Sandbox, run_command
from fanwise.processes.sandbox import available
from fanwise.workspaces import Workspace, environment
from fanwise.workspaces.folders import make_writable, remove_tree

KEEP = 1 * MB


def scratch_folder(workspace: Workspace) -> AbstractAsyncContextManager[Path]:
    """A folder for one use, gone after it whatever was done to it."""
    return scratch_beside(workspace.root)


def scratch_beside(root: Path | None) -> AbstractAsyncContextManager[Path]:
    """A home and a folder for temporary files, for one use; anywhere, if there is no root.

    Beside the workspace: when we are killed, it is removed with the pool.
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
    """Run a line of shell, or a program with its arguments, in the folder that was asked for.

    `scratch` is a `scratch_folder`; `env` comes on top, and `readable` is what a sandbox has to
    let it see. `timeout` is for this run, if it is less than the settings have.
    """
    made = command_in_workspace(
        workspace, command, settings, scratch=scratch, env=env, readable=readable, stdin=stdin
    )
    return await run_command(made, timeout=seconds_for(settings, timeout))


def seconds_for(settings: Settings, timeout: float | None) -> float:
    """How long one run may take."""
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
    """What `run_in_workspace` runs; `values` are the parameters of a line of shell."""
    return confined(
        command, settings,
        scratch=scratch, cwd=str(workspace.path), around=environment(workspace), env=env or {},
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
    """A line of shell, or a program with its arguments, with all that is around it.

    `around` is the environment of the place; what `env` has comes on top. `writable` and `readable`
    are for the sandbox, `scratch` is both. `values` are the parameters of a line of shell.
    """
    box = Sandbox(writable=(*writable, str(scratch)), readable=readable)
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


def own_environment(scratch: Path, settings: Settings) -> dict[str, str]:
    """Of one run, whoever runs it: its home, its temporary files, and what the settings have."""
    own = {"HOME": str(scratch / "home"), "TMPDIR": str(scratch / "tmp")}
    if settings.sandbox and available():
        own["TMPDIR"] = "/tmp"  # its own, bounded, and short enough for the names of sockets
    if site.ENABLE_USER_SITE:
        own["PYTHONUSERBASE"] = site.getuserbase()  # packages that are in the real home
    return {**own, **settings.env}
