"""A look now and then at what all processes of a command take together.

The kernel counts only by process or by user. So its table is looked at: for a twentieth of the
time, where that is often enough. Between two looks a command may take more than it may; it does
not live to keep it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from fanwise.processes.family import ProcessFamily
from fanwise.processes.limits import Exceeded, Limits
from fanwise.processes.pids import PidsCgroup
from fanwise.processes.visible import IN_MEMORY

_FIRST_S = 0.02
_PAUSE_S = 0.05
_LONGEST_S = 0.25
_SHARE = 20
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Watch:
    """Watches the limits of a running command."""

    def __init__(
        self, limits: Limits, family: ProcessFamily, helpers: int, cgroup: PidsCgroup | None = None
    ) -> None:
        self._cgroup = cgroup
        self._limits = limits
        self._family = family
        self._helpers = helpers
        self._next = time.monotonic() + _FIRST_S
        self.pause = _FIRST_S
        self.found: Exceeded | None = None

    def looked(self) -> bool:
        """Look, if it is time; returns whether a limit is exceeded."""
        began = time.monotonic()
        if self.found is None and began >= self._next:
            self.found = self._look()
            took = time.monotonic() - began
            self.pause = min(max(_PAUSE_S, _SHARE * took), _LONGEST_S)
            self._next = time.monotonic() + self.pause
        return self.found is not None

    def _look(self) -> Exceeded | None:
        if self._cgroup is not None and self._cgroup.refused():
            return "processes"
        pids = self._family.living()
        most = self._limits.processes
        if most is not None and len(pids) - self._helpers > most:
            return "processes"
        memory = self._limits.memory
        # The quick figure counts pages that a fork shares with its parent twice; the exact one
        # is worth its price only when the quick one is too high.
        if memory is None:
            return None
        left = memory - (_files_in_memory(pids) if self._helpers else 0)
        if sum(map(_own, pids)) > left and sum(map(_exact, pids)) > left:
            return "memory"
        return None


def _files_in_memory(pids: list[int]) -> int:
    """Bytes in the files of a sandbox that are held in memory."""
    ours = {os.stat(place).st_dev for place in IN_MEMORY if os.path.exists(place)}  # noqa: PTH110, PTH116
    for pid in reversed(pids):  # the last ones are inside
        try:
            places = [f"/proc/{pid}/root{place}" for place in IN_MEMORY]
            if ours.isdisjoint(os.stat(place).st_dev for place in places):  # noqa: PTH116
                found = map(os.statvfs, places)
                return sum((each.f_blocks - each.f_bfree) * each.f_frsize for each in found)
        except OSError:
            continue
    return 0


def _own(pid: int) -> int:
    """Bytes of memory that are not backed by a file."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_bytes().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * _PAGE if len(fields) > 2 else 0


def _exact(pid: int) -> int:
    """The same, with each shared page shared out among those who share it."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines()
    except OSError:
        return _own(pid)
    sizes = {line.split()[0]: int(line.split()[1]) for line in lines if line.endswith(b" kB")}
    return sizes.get(b"Pss_Anon:", sizes.get(b"Pss:", 0)) * 1024
