"""A command that cannot touch what it is not given: bubblewrap, where it is installed.

No network, no signal to a process outside, no sight of another process's environment; the file
system read-only but for what is named, a /tmp of its own, and nothing in /run (its sockets lead to
daemons that would write on behalf of whoever asks). Without bubblewrap there is nothing like it
for a plain user: then the command runs as it is, this is said once, and its result says so too.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from fanwise.errors import UsageError

HELPERS = 2
"""Processes of bubblewrap itself around a command: one outside, and the first one inside."""

_TMP_BYTES = 1 << 30
_SIZES = (("--size", str(_TMP_BYTES)), ())  # older ones cannot bound the size of /tmp
_IN_RUN = "/run/current-system"  # where NixOS has its programs


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """What a command in a sandbox may write, and whether it has a network.

    `writable` are files and folders that exist; everything else can only be read. What lies in
    /tmp or /run is not seen, except the command's folder, the running Python, and what is in
    `writable` and `readable`.
    """

    writable: Sequence[str] = ()
    readable: Sequence[str] = ()
    network: bool = False

    def __post_init__(self) -> None:
        for name in ("writable", "readable"):
            given = getattr(self, name)
            if isinstance(given, str) or not all(isinstance(each, str) for each in given):
                raise UsageError(f"{name} of a sandbox is {given!r}", "Give a list of paths")
            msgspec.structs.force_setattr(self, name, tuple(given))


def unusable() -> str:
    """Why there is no sandbox here; empty if there is one."""
    return _usable()[1]


def available() -> bool:
    """Whether there is a sandbox here."""
    return not _usable()[1]


def inside(sandbox: Sandbox, argv: list[bytes], cwd: str | None) -> list[bytes] | None:
    """The arguments that run `argv` in the sandbox; None, after a warning, if there is none."""
    size, problem = _usable()
    if problem:
        _warn(problem)
        return None
    folder = os.path.abspath(cwd or os.getcwd())  # noqa: PTH100, PTH109 - links stay as they are
    options = [
        *_WALLS, *(["--share-net"] if sandbox.network else []),
        *size, "--tmpfs", "/tmp", *_binds(sandbox, folder), "--chdir", folder, "--",
    ]  # fmt: skip
    return [b"bwrap", *map(os.fsencode, options), *argv]


_WALLS = (
    "--unshare-all", "--die-with-parent", "--cap-drop", "ALL",
    "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
    "--tmpfs", "/run", "--ro-bind-try", _IN_RUN, _IN_RUN,
)  # fmt: skip


def _binds(sandbox: Sandbox, folder: str) -> Iterable[str]:
    hidden = [folder, sys.prefix, sys.base_prefix, *sandbox.readable]
    for path in (os.path.abspath(each) for each in hidden):  # noqa: PTH100
        if _is_hidden(path):
            yield from ("--ro-bind-try", path, path)
    for path in (os.path.abspath(each) for each in sandbox.writable):  # noqa: PTH100
        if not Path(path).exists():
            raise UsageError(f"{path} is to be writable and does not exist", "Make it first")
        yield from ("--bind", path, path)


def _is_hidden(path: str) -> bool:
    return any(Path(path).is_relative_to(place) for place in ("/tmp", "/run"))


@functools.cache
def _usable() -> tuple[tuple[str, ...], str]:
    """Options that this bubblewrap knows, and what is in the way of using it at all."""
    if shutil.which("bwrap") is None:
        return (), "bubblewrap is not installed (its program is called bwrap)"
    problem = ""
    for size in _SIZES:
        argv = ["bwrap", *_WALLS, *size, "--tmpfs", "/tmp", "--", "true"]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode == 0:
            return size, ""
        problem = done.stderr.decode("utf-8", "replace").strip()
    return (), f"bubblewrap does not work here: {problem}"


@functools.cache
def _warn(problem: str) -> None:
    """Once for each process."""
    warnings.warn(
        f"commands run without a sandbox, with your permissions and your network: {problem}",
        RuntimeWarning,
        stacklevel=2,
    )
