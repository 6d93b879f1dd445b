"""The system's table of processes, read from /proc.

To read it takes about 15 microseconds for each process of the machine, and when a hundred
commands are cancelled at once, each wants to know its own. So one look serves all who ask within
a few milliseconds of it. That is safe: a family of processes that was empty stays empty, and one
that was not is looked at again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import NamedTuple

from fanwise.processes.guard_program import VARIABLE, environ, pids

_AGE_S = 0.005
_SHARE = 4  # on a crowded machine a look is good for so many times what it took


class Process(NamedTuple):
    pid: int
    parent: int
    group: int
    born: int
    """Clock ticks since boot: tells a process from a later one with the same number."""
    zombie: bool
    marks: bytes
    """What it has in its environment for us, see `guard.py`."""


class ProcessTable(NamedTuple):
    """All processes at one moment; empty without /proc."""

    processes: dict[int, Process]
    children: dict[int, list[int]]
    taken: float
    good_until: float

    def with_descendants(self, roots: Iterable[int]) -> set[int]:
        """The roots and all their descendants."""
        found: set[int] = set()
        waiting = list(roots)
        while waiting:
            pid = waiting.pop()
            if pid not in found:
                found.add(pid)
                waiting.extend(self.children.get(pid, ()))
        return found


_last = ProcessTable({}, {}, 0.0, 0.0)


def look(since: float) -> ProcessTable:
    """Return a table that is recent, and not older than `since` (`time.monotonic`)."""
    global _last
    if time.monotonic() > _last.good_until or _last.taken < since:
        _last = _take()
    return _last


def _take() -> ProcessTable:
    start = time.monotonic()
    rows = (_read(pid) for pid in pids())
    processes = {row.pid: row for row in rows if row is not None}
    children: dict[int, list[int]] = {}
    for row in processes.values():
        children.setdefault(row.parent, []).append(row.pid)
    end = time.monotonic()
    return ProcessTable(processes, children, start, end + max(_AGE_S, _SHARE * (end - start)))


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
        marks=_marks(environ(pid)),
    )


def _marks(environment: bytes) -> bytes:
    name = f"{VARIABLE}=".encode()
    start = 0 if environment.startswith(name) else environment.find(b"\0" + name) + 1
    if not environment.startswith(name, start):
        return b""
    return environment[start + len(name) :].partition(b"\0")[0]
