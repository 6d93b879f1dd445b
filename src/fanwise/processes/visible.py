"""What a command in a sandbox sees: an empty file system, with what it needs put into it.

System folders, the interpreter, and what is named; all read-only but for what is named as
writable. Not the rest of `/`: a key in a home, a password under /etc, the socket of a daemon or a
named pipe is reached by nobody who does not see it, whatever his user and permissions. (A list of
places to hide was tried first. It is never complete.)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from fanwise.errors import UsageError

Kind = Literal["readable", "writable", "link", "tmpfs"]

_TMP_BYTES = 1 << 30
IN_MEMORY = ("/tmp", "/dev/shm")
_SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
    "/nix/store", "/gnu/store", "/run/current-system",
)  # fmt: skip
_ETC = (
    "alternatives", "ca-certificates", "fonts", "group", "host.conf", "hosts", "ld.so.cache",
    "ld.so.conf", "ld.so.conf.d", "localtime", "magic", "mime.types", "nsswitch.conf", "os-release",
    "passwd", "pki/ca-trust/extracted", "pki/tls/certs", "protocols", "services", "ssl/certs",
    "ssl/openssl.cnf", "terminfo", "timezone",
)  # fmt: skip
"""What programs look up there. No keys: not `ssl/private`, `shadow`, or the settings of daemons."""
_FOR_A_NETWORK = ("resolv.conf", "gai.conf")
_ENVIRONMENT = ("pyvenv.cfg", "bin", "lib", "lib64", "include", "share")
COVERED = (
    "acpi", "asound", "bus", "driver", "fs", "irq", "kcore", "keys", "latency_stats", "mtrr",
    "scsi", "sched_debug", "sys", "sysrq-trigger", "timer_list",
)  # fmt: skip
"""Of /proc: what is about the machine and not about a process. The kernel lets root write some of
it by his number alone, also where he has no capabilities left."""


class Mount(NamedTuple):
    """One place of the sandbox's file system."""

    place: str
    kind: Kind
    source: str = ""
    """The path outside, or where a link leads."""
    size: int = 0


def mounts(
    readable: Iterable[str], writable: Iterable[str], *, network: bool, memory: int | None
) -> list[Mount]:
    """All that is seen, a folder before what is inside of it. `UsageError`.

    `memory`: the limit of the command. Files in memory are memory too, so they get half of it.
    """
    size = min(_TMP_BYTES, (memory or 2 * _TMP_BYTES) // 2) // len(IN_MEMORY)
    found = {place: Mount(place, "tmpfs", size=size) for place in IN_MEMORY}
    found["/var/tmp"] = Mount("/var/tmp", "link", "/tmp")
    for each in (*_system(network=network), *map(_absolute, readable)):
        found[each] = Mount(each, "readable", os.path.realpath(each))
    for path in _SYSTEM:
        if Path(path).is_symlink() and path != "/run/current-system":
            found[path] = Mount(path, "link", str(Path(path).readlink()))
    for path in map(_absolute, writable):
        if not Path(path).exists():
            raise UsageError(f"{path} is to be writable and does not exist", "Make it first")
        found[path] = Mount(path, "writable", os.path.realpath(path))
    return sorted(
        (each for each in found.values() if each.kind != "readable" or Path(each.source).exists()),
        key=lambda each: len(Path(each.place).parts),
    )


def own_interpreter() -> tuple[str, ...]:
    """The folders of the Python that runs this."""
    return interpreter(sys.executable, sys.prefix, sys.base_prefix, sys.base_exec_prefix)


def interpreter(program: str, *folders: str) -> tuple[str, ...]:
    """What has to be seen of a Python: its folders, and the links that lead to its program.

    Never a whole home, or what homes are in, and of a virtual environment its own parts alone:
    one that was made in the root of a project has the project's keys beside them.
    """
    home = Path.home()
    found = [part for each in (*_links(program), *folders) if each for part in _parts(each)]
    return tuple(dict.fromkeys(each for each in found if not home.is_relative_to(each)))


def _parts(folder: str) -> Iterator[str]:
    if not Path(folder, "pyvenv.cfg").exists():
        yield folder
        return
    for name in _ENVIRONMENT:
        if (part := Path(folder, name)).exists():
            yield str(part)


def _links(program: str) -> Iterator[str]:
    """The environment that a program belongs to, at each step on the way that its links lead."""
    for _ in range(40):  # as many as the kernel follows
        above = Path(program).parent.parent
        is_environment = (above / "pyvenv.cfg").exists() or any(above.glob("lib/python3*"))
        yield str(above) if is_environment else program
        if not Path(program).is_symlink():
            return
        program = os.path.join(Path(program).parent, Path(program).readlink())  # noqa: PTH118


def _system(*, network: bool) -> Iterator[str]:
    yield from _SYSTEM
    for name in (*_ETC, *(_FOR_A_NETWORK if network else ())):
        yield f"/etc/{name}"


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - links stay as they are
