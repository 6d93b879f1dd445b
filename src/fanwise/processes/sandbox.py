"""A command that sees and reaches nothing but what it is given.

No network, no signal to a process outside, no sight of another process's environment; the files
that `visible.py` lists and no others; no capabilities, and the user `nobody` instead of root.
bubblewrap does it where it is installed. Without it `namespaces_program.py` asks the kernel for the
same. Where neither works a command that wants a sandbox is refused, never run without one.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from fanwise.errors import SandboxUnavailable, UsageError
from fanwise.processes.visible import COVERED, Mount, mounts, own_interpreter

HELPERS = 2
"""Processes of the sandbox itself around a command: one outside, and the first one inside."""

_NOBODY = 65534
_PROGRAM = str(Path(__file__).with_name("namespaces_program.py"))


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """What a command in a sandbox may write and see, and whether it has a network.

    `writable` are files and folders that exist; `readable` can be seen as well. Beside them it
    sees system folders, its own folder and the running Python, and nothing else: no home, nothing
    of /var, /run and /tmp, and of /etc only what holds no secrets.
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


class _Box(NamedTuple):
    """What a sandbox is made of."""

    mounts: list[Mount]
    cwd: str
    network: bool


def unusable() -> str:
    """Why there is no sandbox here; empty if there is one."""
    found = _usable()
    return found if isinstance(found, str) else ""


def inside(sandbox: Sandbox, argv: list[bytes], cwd: str | None, memory: int | None) -> list[bytes]:
    """The arguments that run `argv` in the sandbox. `SandboxUnavailable`.

    `memory`: the limit of the command, which counts for its files in memory too.
    """
    around = _usable()
    if isinstance(around, str):
        raise SandboxUnavailable(around)
    folder = os.path.abspath(cwd or os.getcwd())  # noqa: PTH100, PTH109 - links stay as they are
    seen = [*own_interpreter(), *sandbox.readable, *([folder] if folder != "/" else [])]
    found = mounts(seen, sandbox.writable, network=sandbox.network, memory=memory)
    return [*map(os.fsencode, around(_Box(found, folder, sandbox.network))), *argv]


def _user() -> tuple[int, int]:
    """Who it is inside: nobody instead of root."""
    return os.geteuid() or _NOBODY, os.getegid() or _NOBODY


def _bubblewrap(box: _Box) -> list[str]:
    user, group = map(str, _user())
    options = [
        shutil.which("bwrap") or "bwrap", "--unshare-all", *["--share-net"][: box.network],
        "--unshare-user", "--uid", user, "--gid", group, "--disable-userns",
        "--die-with-parent", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev",
    ]  # fmt: skip
    for name in COVERED:
        options += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    for each in box.mounts:
        if each.kind == "tmpfs":
            options += ["--size", str(each.size), "--tmpfs", each.place]
        else:
            kinds = {"readable": "--ro-bind", "writable": "--bind", "link": "--symlink"}
            options += [kinds[each.kind], each.source, each.place]
    return [*options, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", box.cwd, "--"]


def _namespaces(box: _Box) -> list[str]:
    user, group = _user()
    how = {
        "mounts": [tuple(each) for each in box.mounts], "cwd": box.cwd, "network": box.network,
        "user": user, "group": group, "covered": COVERED,
    }  # fmt: skip
    return [sys.executable, "-I", "-S", _PROGRAM, json.dumps(how)]


@functools.cache
def _usable() -> Callable[[_Box], list[str]] | str:
    """What makes a sandbox here, or why nothing does."""
    if sys.platform != "linux":
        return "only Linux has one"
    problems = []
    found = mounts(own_interpreter(), (), network=False, memory=None)
    for around, name in ((_bubblewrap, "bubblewrap"), (_namespaces, "user namespaces")):
        if around is _bubblewrap and shutil.which("bwrap") is None:
            problems.append("bubblewrap is not installed")
            continue
        argv = [*around(_Box(found, "/", network=False)), "true"]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode == 0:
            return around
        said = done.stderr.decode("utf-8", "replace").strip()
        problems.append(f"{name} did not work: {said}")
    return "; ".join(problems)
