"""A command's processes: its group, and those that left it.

A signal to the group reaches all that stayed in it. A process that called setsid is found on
Linux by its ancestors, as long as they live, and by the mark that it inherited in its
environment, afterwards. To look there takes milliseconds (see `table.py`), so it is done only
when something has to be killed. Elsewhere, and for a process that has both lost its ancestors and
wiped its environment, there is the group alone. (A cgroup would have no gaps, but needs
privileges.)
"""

from __future__ import annotations

import os
import signal
import time

from fanwise.processes.table import Process, look


class ProcessFamily:
    """The processes of the command that `leader` was started for."""

    def __init__(self, leader: int, mark: str, *, sandboxed: bool = False) -> None:
        self._leader = leader
        self._sandboxed = sandboxed
        self._mark = mark.encode()
        self._since = time.monotonic()
        self._leader_is_ours = True
        self._strays: dict[int, int] = {}

    def leader_is_reaped(self) -> None:
        """Take note that from now on its number may be another's, once the group is empty."""
        self._leader_is_ours = False
        self._since = time.monotonic()

    def living(self) -> list[int]:
        """Return the processes that are alive now, the leader among them."""
        table = look(self._since)
        rows = table.processes
        if not rows:
            return [self._leader] if self._group_exists() else []
        self._strays = {
            pid: born
            for pid, born in self._strays.items()
            if pid in rows and rows[pid].born == born
        }
        found = table.with_descendants(pid for pid, row in rows.items() if self._is_root(row))
        for pid in found:
            if rows[pid].group != self._leader:
                self._strays[pid] = rows[pid].born
        return sorted(pid for pid in found if not rows[pid].zombie)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all that are alive now."""
        # Who they are must be known before the first of them dies and its children lose it.
        living = self.living()
        if self._sandboxed and number != signal.SIGKILL:
            # Whoever ends the sandbox ends all in it at once, and nobody in it could tidy up.
            for pid in living:
                if pid != self._leader:
                    _kill(pid, number)
            return
        for pid in living:
            if pid in self._strays:
                _kill(pid, number)
        _kill(-self._leader, number)

    def freeze(self) -> None:
        """Stop the group where it is: to look for all that it forks takes longer than to fork.

        A sandbox ends at once, with all that is in it.
        """
        _kill(-self._leader, signal.SIGKILL if self._sandboxed else signal.SIGSTOP)

    def group_is_empty(self) -> bool:
        """Whether nobody lives in the group; after the leader is reaped, one system call.

        If the group is there and the table has no member of it, one was forked while the table was
        read, by one that ended meanwhile: that takes another look.
        """
        if not self._group_exists():
            return True
        table = look(self._since).processes
        members = [process for process in table.values() if process.group == self._leader]
        return bool(members) and all(process.zombie for process in members)

    def _group_exists(self) -> bool:
        try:
            os.killpg(self._leader, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # somebody is there who has changed his user
        return True

    def _is_root(self, row: Process) -> bool:
        return (
            row.group == self._leader
            or self._mark in row.marks
            or row.pid in self._strays
            or (row.pid == self._leader and self._leader_is_ours)
        )


def _kill(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return  # gone, or not ours to signal: whoever is left shows in the next look at the table
