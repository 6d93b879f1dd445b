"""How a child of the check is run, and where.

A `Site` is a checkout with what Python needs to import from it. Whoever has a workspace gives
that; tests and tools may give a plain folder.
"""

from __future__ import annotations

import compileall
import functools
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from fanwise.kernel.confined.running import confined, scratch_beside
from fanwise.kernel.confined.settings import Settings
from fanwise.kernel.in_thread import in_thread
from fanwise.processes import Command, CommandResult, run_command
from fanwise.workspaces import Workspace, environment

INJECTED = Path(__file__).parent / "injected"
"""Added to the import path of the user's interpreter."""

_KEEP = 256 << 20


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """A checkout to run programs in."""

    root: str
    """The top of the repository."""
    path: str
    """The folder that programs are run in."""
    env: Mapping[str, str] = {}
    readable: tuple[str, ...] = ()
    """What a sandbox has to let it see, beside `root`."""
    pooled: bool = False
    """A slot of a pool: what lies beside it is removed with the pool."""

    @classmethod
    def folder(cls, path: Path) -> Site:
        """A plain folder, with or without `src`."""
        paths = [str(each) for each in (path / "src", path) if each.is_dir()]
        env = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
        return cls(root=str(path), path=str(path), env=env)


Where = Workspace | Site


def site_of(where: Where) -> Site:
    """The site of a workspace."""
    if isinstance(where, Site):
        return where
    return Site(
        root=str(where.root),
        path=str(where.path),
        env=environment(where),
        readable=where.readable,
        pooled=True,
    )


@functools.cache
def _compiled() -> None:
    """Compile our part once: in a checkout nothing compiled is written."""
    compileall.compile_dir(str(INJECTED), quiet=2)


def _for_tests(site: Site) -> dict[str, str]:
    """The environment in which `sitecustomize` of ours is imported before anything else."""
    path = os.pathsep.join(filter(None, [str(INJECTED), site.env.get("PYTHONPATH", "")]))
    return {**site.env, "PYTHONPATH": path}


def _isolated(site: Site) -> dict[str, str]:
    """The environment of our own programs: no folder of the project is on their import path."""
    kept = {name: value for name, value in site.env.items() if name != "PYTHONPATH"}
    return {**kept, "FANWISE_PYTHONPATH": site.env.get("PYTHONPATH", "")}


async def run_program(
    where: Where,
    program: str,
    how: Mapping[str, object] | bytes,
    settings: Settings,
    *,
    python: str = "",
    hash_seed: int = 0,
    readable: Sequence[str] = (),
    timeout: float | None = None,
) -> CommandResult:
    """Run a module of `fanwise_child` in the user's interpreter; `how` goes to its stdin.

    Of the project nothing is imported but what the program asks for: see `injected/start.py`.
    """
    site = site_of(where)
    around = [str(Path(python).parent.parent)] if python else []
    data = how if isinstance(how, bytes) else msgspec.json.encode(how)
    words = (python or sys.executable, "-P", str(INJECTED / "start.py"), program)
    async with _scratch(site) as scratch:
        command = _command(
            words, site, settings, scratch, _isolated(site), {"PYTHONHASHSEED": str(hash_seed)},
            readable=(*readable, *around), stdin=data,
        )  # fmt: skip
        return await run_command(command, timeout=timeout or settings.timeout_s)


async def run_line(
    where: Where, line: str, env: Mapping[str, str], settings: Settings, writable: str
) -> CommandResult:
    """Run the user's own test command, with more in its environment."""
    site = site_of(where)
    async with _scratch(site) as scratch:
        command = _command(
            line, site, settings, scratch, _for_tests(site), env, writable=(writable,)
        )
        return await run_command(command, timeout=settings.timeout_s)


def _command(
    words: str | Sequence[str],
    site: Site,
    settings: Settings,
    scratch: Path,
    around: Mapping[str, str],
    env: Mapping[str, str],
    *,
    readable: Sequence[str] = (),
    writable: Sequence[str] = (),
    stdin: bytes | None = None,
) -> Command:
    return confined(
        words, settings,
        scratch=scratch, cwd=site.path, around=around, env=env, stdin=stdin, keep=_KEEP,
        writable=(site.root, *writable), readable=(*site.readable, str(INJECTED), *readable),
    )  # fmt: skip


@asynccontextmanager
async def _scratch(site: Site) -> AsyncIterator[Path]:
    await in_thread(_compiled)
    async with scratch_beside(Path(site.root) if site.pooled else None) as folder:
        yield folder
