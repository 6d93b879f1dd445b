"""The guard: a process that kills what a dead fanwise has left running.

Run as a program by `guard.py`, which says why there is one. It imports nothing of fanwise and
little of the standard library, for it is started in each process that runs commands. On stdin
it is told, a line each: `+ID` a command is about to start, `=ID PID` it leads the process group
PID, `-ID` it is over. When its parent is gone, it kills the groups that are left, and whatever
carries the mark of one of these commands in its environment, in whatever group.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

VARIABLE = "FANWISE_CHILD"
"""Holds the marks of the commands that a process belongs to, the outermost first."""

_ROUNDS = 50  # a group that forks faster than it is killed must not keep the guard for ever


def mark(owner: str, number: str) -> str:
    """The mark in the environment of a command's processes."""
    return f"[{owner}.{number}]"


def marked(marks: list[bytes]) -> list[int]:
    """Return the processes whose environment has one of the marks; none without /proc."""
    me = os.getpid()
    found = ((pid, environ(pid)) for pid in pids() if pid != me)
    return [pid for pid, text in found if any(each in text for each in marks)]


def pids() -> list[int]:
    """All process ids; none without /proc."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return []


def environ(pid: int) -> bytes:
    """Return the environment that a process was started with; nothing if it is not ours to read."""
    try:
        fd = os.open(f"/proc/{pid}/environ", os.O_RDONLY)
    except OSError:
        return b""
    try:
        parts = []
        while part := os.read(fd, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _heed(live: dict[str, int], line: str) -> None:
    number, _, pid = line[1:].partition(" ")
    if line[0] == "-":
        live.pop(number, None)
    else:
        live[number] = int(pid or 0)


def _listen(parent: int, live: dict[str, int]) -> None:
    """Follow the parent until it is gone: its end of the pipe is closed, or it is dead."""
    wanted = [0]
    with contextlib.suppress(AttributeError, OSError):
        # A fork of the parent may hold the pipe open, so the pipe alone does not tell.
        wanted.append(os.pidfd_open(parent))
    rest = b""
    while True:
        ready = select.select(wanted, [], [])[0]
        chunk = os.read(0, 1 << 16) if 0 in ready else b""
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            _heed(live, line.decode())
        if not chunk:
            return


def _end(owner: str, live: dict[str, int]) -> None:
    marks = [mark(owner, number).encode() for number in live]
    groups = {pid for pid in live.values() if pid > 1}
    for _ in range(_ROUNDS):
        carriers = marked(marks) if marks else []
        # The parent may have died between starting a command and saying which group it leads.
        groups.update(group for group in map(_group, carriers) if group > 1)
        found = sum(_kill(-group) for group in groups) + sum(_kill(pid) for pid in carriers)
        if not found:
            return
        time.sleep(0.01)


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    return True


def main() -> None:
    """Guard the parent until it is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    owner, parent = sys.argv[1], int(sys.argv[2])
    live: dict[str, int] = {}
    _listen(parent, live)
    _end(owner, live)


if __name__ == "__main__":
    main()
