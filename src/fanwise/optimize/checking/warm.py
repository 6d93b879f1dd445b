"""Tests from a warm start: pytest is imported once for each slot, and forked for each candidate.

What a candidate may do, see and take is as in the cold way (`running.py`); its outcomes are the
same. Less safe it is in this: two candidates that both pass, one after the other in a slot, are
forked from one process and have one sandbox around them. The first cannot look into that process
or write to it; its own processes are dead, and the folders that they share are as they were, before
the next begins. But what the kernel keeps for a sandbox as a whole and does not show (such as POSIX
message queues) would be found by the next, and without a sandbox root can look into any process.
So it is an option. After a candidate that fails, or leaves anything, the server is replaced.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from fanwise.errors import FanwiseError
from fanwise.kernel.confined.running import (
    KEEP,
    command_in_workspace,
    run_in_workspace,
    seconds_for,
)
from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.checking.pytest_line import PlainPytest, plain_pytest, shadowed
from fanwise.processes import Command, CommandResult, Limits, Sandbox
from fanwise.processes.environment import environment
from fanwise.processes.fork_server import POSSIBLE, PROGRAM, ForkServer, Use
from fanwise.processes.sandbox import available
from fanwise.workspaces import Workspace
from fanwise.workspaces.folders import make_writable, remove_tree

_OF_ONE_USE = ("PYTHONPATH", "HOME", "TMPDIR", "PYTEST_PLUGINS")
_START_S = 60.0


class _Kind(msgspec.Struct, frozen=True):
    """What cannot be changed after the start: a server is for uses that have the same."""

    python: str
    env: Mapping[str, str]
    inherit: tuple[str, ...] | None
    limits: Limits
    sandbox: Sandbox | None
    places: tuple[tuple[int, int], ...]
    """Which folders these are: a sandbox has the ones of its start."""


class WarmRunner:
    """Runs test commands, and keeps a server for each slot. `close` it; use it in one loop."""

    def __init__(self) -> None:
        self._servers: dict[Path, tuple[_Kind, ForkServer]] = {}
        self.warm = 0
        """Runs that were forked."""
        self.cold: dict[str, int] = {}
        """Why others were not, and how many."""

    async def __call__(
        self,
        workspace: Workspace,
        command: str | Sequence[str],
        settings: Settings,
        /,
        *,
        scratch: Path,
        env: Mapping[str, str] | None = None,
        readable: Sequence[str] = (),
        timeout: float | None = None,
    ) -> CommandResult:
        """As `run_in_workspace`."""
        made = command_in_workspace(
            workspace, command, settings, scratch=scratch, env=env, readable=readable
        )
        found = await self._prepared(workspace, command, made, scratch)
        if isinstance(found, str):
            self.cold[found] = self.cold.get(found, 0) + 1
            return await run_in_workspace(
                workspace, command, settings,
                scratch=scratch, env=env, readable=readable, timeout=timeout,
            )  # fmt: skip
        server, use = found
        self.warm += 1
        result = await server.run(use, keep=KEEP, timeout=seconds_for(settings, timeout))
        if not server.fit or _strangers(scratch):
            self._leave(workspace.root)
        return result

    def close(self) -> None:
        """End all servers."""
        for root in list(self._servers):
            self._leave(root)

    def _leave(self, root: Path) -> None:
        known = self._servers.pop(root, None)
        if known is not None:
            known[1].stop()

    async def _prepared(
        self, workspace: Workspace, command: str | Sequence[str], made: Command, scratch: Path
    ) -> tuple[ForkServer, Use] | str:
        """A server and what it is to be asked; or why it is to be cold."""
        if not POSSIBLE:
            return "this system has no means to protect a server"
        env = _environment(made, "")
        if not _is_text(env):
            return "its environment is not text"
        plain = plain_pytest(command, env, workspace.root)
        if isinstance(plain, str):
            return plain
        server = await self._server(workspace, plain, made, scratch)
        if server is None:
            return f"{plain.python} could not be started with pytest"
        if name := shadowed(server.modules, _import_folders(plain, workspace, env)):
            return f"the repository has a module {name!r} of its own"
        return server, Use(
            argv=(plain.python, *plain.arguments),
            script=plain.script,
            cwd=str(workspace.path),
            env=_environment(made, server.mark),
        )

    async def _server(
        self, workspace: Workspace, plain: PlainPytest, made: Command, scratch: Path
    ) -> ForkServer | None:
        kind = _kind(workspace, plain, made, scratch)
        known = self._servers.get(workspace.root)
        if known is not None and known[0] == kind and known[1].idle():
            return known[1]
        self._leave(workspace.root)
        try:
            server = ForkServer(lambda channel: _command(kind, channel))
        except FanwiseError:
            return None  # the cold way will say why
        self._servers[workspace.root] = (kind, server)
        if not await server.ready(_START_S):
            self._leave(workspace.root)
            return None
        return server


def _environment(made: Command, mark: str) -> dict[str, str]:
    sandboxed = made.sandbox is not None and available()
    found = environment(made, mark, sandboxed=sandboxed)
    return {os.fsdecode(name): os.fsdecode(value) for name, value in found.items()}


def _kind(workspace: Workspace, plain: PlainPytest, made: Command, scratch: Path) -> _Kind:
    own = {
        name: value
        for name, value in (made.env or {}).items()
        if name not in _OF_ONE_USE and not name.startswith("FANWISE_")
    }
    places = (workspace.root, scratch.parent)
    sandbox = made.sandbox and Sandbox(
        writable=tuple(map(str, places)), readable=(*made.sandbox.readable, str(PROGRAM))
    )
    assert made.limits is not None
    stats = [place.stat() for place in places]
    return _Kind(
        plain.python,
        own,
        made.inherit,
        made.limits,
        sandbox,
        tuple((each.st_dev, each.st_ino) for each in stats),
    )


def _command(kind: _Kind, channel: int) -> Command:
    sandboxed = kind.sandbox is not None and available()
    return Command(
        kind.python, str(PROGRAM), str(channel), "sandboxed" if sandboxed else "open",
        cwd="/", env={**kind.env, "HOME": "/nonexistent", "TMPDIR": "/nonexistent"}, keep=4096,
        check=False, inherit=kind.inherit, limits=kind.limits, sandbox=kind.sandbox or False,
    )  # fmt: skip


def _import_folders(plain: PlainPytest, workspace: Workspace, env: Mapping[str, str]) -> list[Path]:
    """Where a fresh Python would look first."""
    given = [each for each in env.get("PYTHONPATH", "").split(os.pathsep) if each]
    return [*([workspace.path] if plain.script is None else []), *map(Path, given)]


def _strangers(scratch: Path) -> bool:
    """Whether something was put beside the folder of this use, where the next has its own."""
    make_writable(scratch.parent)
    found = [each for each in scratch.parent.iterdir() if each != scratch]
    for each in found:
        remove_tree(each)
    return bool(found)


def _is_text(env: Mapping[str, str]) -> bool:
    try:
        "".join(env.values()).encode()
    except UnicodeEncodeError:
        return False
    return True
