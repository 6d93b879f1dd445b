"""A bound on the processes of a command that it cannot outrun, where the system has one.

A look at the table now and then (`watch.py`) is exact, and late: a program that forks in a loop
on a busy machine has ten thousand processes before the second look, and nobody else gets to run.
`RLIMIT_NPROC` counts all processes of a user, and binds root not at all. The `pids` controller of
a cgroup refuses the fork itself. It takes a folder that this user may write to, as root has in a
container; where there is none, there are the looks alone.

The controller counts threads, which are no processes here. So it is set wide, to be the wall
behind the looks and not their like.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from functools import cache
from pathlib import Path

_WIDER = 8
_LEAST = 512
_count = itertools.count(1)


class PidsCgroup:
    """A cgroup for one command; `close` it when nothing of the command runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def join(self) -> str:
        """The file to which a process that joins writes its number."""
        return str(self._folder / "cgroup.procs")

    def refused(self) -> bool:
        """Whether a fork was refused."""
        try:
            return (self._folder / "pids.events").read_text().split() not in ([], ["max", "0"])
        except OSError:
            return False

    def close(self) -> None:
        """Remove it. One that is not empty stays, to be removed by a later process."""
        with contextlib.suppress(OSError):
            self._folder.rmdir()


def bound(processes: int) -> PidsCgroup | None:
    """A cgroup that no command with that limit outgrows; None: there is none to be had."""
    home = _home(os.getpid())
    if home is None:
        return None
    folder = home / f"fanwise-{os.getpid()}-{next(_count)}"
    try:
        folder.mkdir()
    except OSError:
        return None
    try:
        (folder / "pids.max").write_text(str(max(_WIDER * processes, _LEAST)))
    except OSError:
        folder.rmdir()
        return None
    return PidsCgroup(folder)


@cache
def _home(pid: int) -> Path | None:
    """The cgroup of this process, if it has the controller; those of dead processes are removed."""
    try:
        home = _own(Path("/proc/self/cgroup").read_text(), Path("/proc/mounts").read_text())
    except OSError:
        return None
    for left in [] if home is None else home.glob("fanwise-*-*"):
        if not Path("/proc", left.name.split("-")[1]).exists():
            with contextlib.suppress(OSError):
                left.rmdir()
    return home


def _own(cgroups: str, mounts: str) -> Path | None:
    """Where the controller is mounted, and which folder there is ours."""
    for line in cgroups.splitlines():
        _, controllers, path = line.split(":", 2)
        for mount in mounts.splitlines():
            _, place, kind, options, *_ = mount.split(" ")
            first = kind == "cgroup" and "pids" in controllers.split(",") and "pids" in options
            if first or (kind == "cgroup2" and not controllers):
                return Path(place) / path.lstrip("/")
    return None
