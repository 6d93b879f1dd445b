"""A command's processes: its group, and those that left it.

A signal to the group reaches all that stayed in it. A process that called setsid is found on
Linux by its ancestors, as long as they live, and by the mark that it inherited in its
environment, afterwards. To read /proc takes milliseconds, so it is done only when something
has to be killed. Elsewhere, and for a process that both lost its ancestors and wiped its
environment, there is the group alone. (A cgroup would have no gaps, but needs privileges.)
"""

from __future__ import annotations

import os
import signal
from typing import NamedTuple

from fanwise.processes.guard_program import marked, pids


class Process(NamedTuple):
    """A line of the system's table of processes."""

    pid: int
    parent: int
    group: int
    born: int
    """Clock ticks since boot: tells a process from a later one with the same number."""
    zombie: bool


class Family:
    """The processes of the command that `leader` was started for."""

    def __init__(self, leader: int, mark: str) -> None:
        self._leader = leader
        self._mark = mark.encode()
        self._leader_is_ours = True
        self._strays: dict[int, int] = {}

    def leader_is_reaped(self) -> None:
        """Take note that from now on its number may be another's, once the group is empty."""
        self._leader_is_ours = False

    def living(self) -> list[int]:
        """Return the processes that are alive now, the leader among them."""
        table = process_table()
        if not table:
            return [self._leader] if self._group_exists() else []
        self._strays = {
            pid: born
            for pid, born in self._strays.items()
            if pid in table and table[pid].born == born
        }
        found = self._related(table)
        for pid in found:
            if table[pid].group != self._leader:
                self._strays[pid] = table[pid].born
        return sorted(pid for pid in found if not table[pid].zombie)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all that are alive now."""
        # Who they are must be known before the first of them dies and its children lose it.
        for pid in self.living():
            if pid in self._strays:
                _kill(pid, number)
        _kill(-self._leader, number)

    def group_is_empty(self) -> bool:
        """Whether nobody lives in the group; after the leader is reaped, one system call."""
        if not self._group_exists():
            return True
        table = process_table()
        members = [process for process in table.values() if process.group == self._leader]
        return bool(table) and all(process.zombie for process in members)

    def _group_exists(self) -> bool:
        try:
            os.killpg(self._leader, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # somebody is there who has changed his user
        return True

    def _related(self, table: dict[int, Process]) -> set[int]:
        roots = {pid for pid, process in table.items() if process.group == self._leader}
        roots.update(pid for pid in marked([self._mark]) if pid in table)
        roots.update(self._strays)
        if self._leader_is_ours and self._leader in table:
            roots.add(self._leader)
        return _with_descendants(roots, table)


def _with_descendants(roots: set[int], table: dict[int, Process]) -> set[int]:
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting.extend(children.get(pid, ()))
    return found


def process_table() -> dict[int, Process]:
    """Return all processes by their number; nothing where there is no /proc."""
    rows = (_read(pid) for pid in pids())
    return {row.pid: row for row in rows if row is not None}


def _read(pid: int) -> Process | None:
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        line = os.read(fd, 4096)
    except OSError:
        return None
    finally:
        os.close(fd)
    # The name stands in parentheses and may contain any character, these included.
    fields = line[line.rfind(b")") + 2 :].split()
    if len(fields) < 20:
        return None
    return Process(
        pid=pid,
        parent=int(fields[1]),
        group=int(fields[2]),
        born=int(fields[19]),
        zombie=fields[0] in (b"Z", b"X"),
    )


def _kill(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return  # gone, or not ours to signal: whoever is left shows in the next look at the table
