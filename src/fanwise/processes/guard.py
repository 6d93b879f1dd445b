"""No orphans: when fanwise is killed with SIGKILL, its commands die too.

An agent that goes on working, and is billed, after the run that started it has died is what
people fear most. What was weighed, with figures for `true` on Linux, beside 0.9 ms for a plain
spawn:

- `prctl(PR_SET_PDEATHSIG)` in a `preexec_fn`: 14 ms more in a process of 300 MB, since it
  rules out vfork; unsafe with threads.
- `setpriv --pdeathsig`: 1.2 ms more for each spawn. Either one reaches only the first process and
  not what it started, and fires as well when merely the *thread* that spawned it ends.
- A guard, chosen: one small process for each process that runs commands, started with the first
  command. It is told of each over a pipe, for microseconds, and when the pipe closes it kills
  the whole groups of those that were running. It works on every POSIX system.

Without `sys.executable`, or in a frozen program, there is no guard, and orphans may go on.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import subprocess
import sys
import threading
from pathlib import Path

from fanwise.processes.guard_program import VARIABLE, mark


class Guard:
    """The parent's end: what runs now, told to the guard process as it changes."""

    def __init__(self) -> None:
        self.owner = secrets.token_hex(8)
        self.pid = os.getpid()
        self._count = 0
        self._live: dict[str, int] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def announce(self) -> str:
        """Announce a command that is about to start; returns its number."""
        with self._lock:
            self._count += 1
            number = str(self._count)
            self._live[number] = 0
            self._tell(f"+{number}\n")
        return number

    def started(self, number: str, pid: int) -> None:
        """Say which group the command leads."""
        with self._lock:
            self._live[number] = pid
            self._tell(f"={number} {pid}\n")

    def over(self, number: str) -> None:
        """Say that nothing of the command is left."""
        with self._lock:
            del self._live[number]
            self._tell(f"-{number}\n")

    def mark(self, number: str) -> str:
        """Return what the command's processes carry in their environment."""
        return mark(self.owner, number)

    def close(self) -> None:
        """End the guard process, with whatever is still running."""
        with self._lock:
            self._end_process()

    def _tell(self, line: str) -> None:
        if self._process is not None and self._write(line):
            return
        # Not started yet, killed by somebody, or stuck with a full pipe: a new one is told all.
        self._end_process(kill=True)
        self._process = _start(self.owner)
        if self._process is not None:
            self._write("".join(f"={number} {pid}\n" for number, pid in self._live.items()))

    def _write(self, line: str) -> bool:
        assert self._process is not None
        assert self._process.stdin is not None
        data = line.encode()
        try:
            return os.write(self._process.stdin.fileno(), data) == len(data)
        except OSError:
            return False

    def _end_process(self, kill: bool = False) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        if kill:
            process.kill()
        process.stdin.close()
        process.wait()


_guard: Guard | None = None


def guard() -> Guard:
    """The guard of this process; a fork gets its own."""
    global _guard
    if _guard is None or _guard.pid != os.getpid():
        _forget(_guard)
        _guard = Guard()
        atexit.register(_guard.close)
    return _guard


def _forget(inherited: Guard | None) -> None:
    """Leave the guard of the process that we were forked from to that process."""
    if inherited is None:
        return
    atexit.unregister(inherited.close)
    process = inherited._process
    if process is not None and process.stdin is not None:
        process.stdin.close()
        process.returncode = 0  # it is not our child: Popen shall not wait for it


def _start(owner: str) -> subprocess.Popen[bytes] | None:
    program = Path(__file__).with_name("guard_program.py")
    if not sys.executable or getattr(sys, "frozen", False) or not program.exists():
        return None
    with contextlib.suppress(OSError):
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(program), owner, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            # Without the mark of an outer fanwise, whose guard would kill this one in its work.
            env={name: value for name, value in os.environ.items() if name != VARIABLE},
            cwd="/",
            bufsize=0,
        )
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)
        return process
    return None
