"""How much a command may take, and which limit ended it.

`output` is counted by whoever reads it. The others are of two kinds. The kernel's own (`ulimit`)
cannot be overrun, hold for each process by itself, and are set by a line of shell in front of the
program: a `preexec_fn` would rule out vfork and is unsafe with threads, and `prlimit` from outside
comes too late for what forks at once. `memory` and `processes` are for the command as a whole, so
these two are looked at while it runs: `watch.py`; `pids.py` has a wall behind that for what forks
faster than anybody looks.
"""

from __future__ import annotations

import resource
import shlex
import signal
from pathlib import Path
from typing import Literal

import msgspec

from fanwise.errors import UsageError

Exceeded = Literal["memory", "cpu", "file_size", "processes", "output"]

_BLOCK = 512  # the unit of `ulimit -f` in a POSIX shell
_SAYS_NO_MEMORY = (
    b"MemoryError",
    b"bad_alloc",
    b"Cannot allocate memory",
    b"memory exhausted",
    b"out of memory",
    b"Out of memory",
    b"OutOfMemoryError",
    b"Not enough space",
)
_BY_SIGNAL: dict[int, Exceeded] = {signal.SIGXCPU: "cpu", signal.SIGXFSZ: "file_size"}


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The most that a command may take; None: as much as there is.

    `memory` and `processes` are looked at a few times a second and only where there is /proc;
    `output` is counted as it is read; the others are the kernel's. A command that exceeds one is
    ended, and its result says which.
    """

    memory: int | None = None
    """Bytes of memory in use by all its processes together."""
    processes: int | None = None
    """Processes at a time, the first one included; in a sandbox, those of the sandbox not."""
    address_space: int | None = None
    """Bytes that each process may map. Some runtimes (Go, Java, Node) map more than they use."""
    cpu_s: int | None = None
    """Seconds of CPU time of each process."""
    file_size: int | None = None
    """Bytes of each file that it writes."""
    output: int | None = None
    """Bytes that it writes to stdout, or to stderr."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            given = getattr(self, name)
            if given is not None and (isinstance(given, bool) or not _is_count(given)):
                raise UsageError(f"the limit {name} is {given!r}", "Give a whole number above 0")

    @property
    def watched(self) -> bool:
        """Whether a `Watch` is needed."""
        return self.memory is not None or self.processes is not None


def _is_count(given: object) -> bool:
    return isinstance(given, int) and given > 0


def within(limits: Limits, argv: list[bytes], join: str | None = None) -> list[bytes]:
    """The arguments that run `argv` with the kernel's limits set; `join`: a cgroup's file."""
    lines = []
    if join is not None:
        lines.append(f"{{ echo $$ > {shlex.quote(join)}; }} 2> /dev/null; ")
    if settings := _settings(limits):
        # Without them it shall not run. What cannot be set is told by the shell, on stderr.
        lines.append(" && ".join(f"ulimit {each}" for each in settings) + " || exit 126; ")
    if not lines:
        return argv
    return [b"/bin/sh", b"-c", f'{"".join(lines)}exec "$@"'.encode(), b"sh", *argv]


def _settings(limits: Limits) -> list[str]:
    found = []
    if limits.address_space is not None:
        size = _allowed(resource.RLIMIT_AS, max(limits.address_space, 1024))
        found.append(f"-v {size // 1024}")
    if limits.file_size is not None:
        size = _allowed(resource.RLIMIT_FSIZE, limits.file_size)
        found.append(f"-f {-(-size // _BLOCK)}")
    if limits.cpu_s is not None:
        # The soft limit is told by a signal of its own; at the hard one it is a plain SIGKILL.
        hard = _allowed(resource.RLIMIT_CPU, limits.cpu_s + 1)
        found += [f"-S -t {min(limits.cpu_s, hard)}", f"-H -t {hard}"]
    return found


def _allowed(which: int, wanted: int) -> int:
    """No more than what this process may have itself: the shell could not raise it."""
    hard = resource.getrlimit(which)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def exceeded_limit(
    limits: Limits, exit_code: int | None, number: int | None, said: bytes, *, oom_killed: bool
) -> Exceeded | None:
    """Which limit a program that has ended ran into.

    That an allocation was refused shows only in what the program says of it, as most do, and that
    counts only where there is such a limit. The kernel's own killer sends SIGKILL.
    """
    if number == signal.SIGKILL and oom_killed:
        return "memory"
    if exit_code == 0:
        return None
    if limits.address_space is not None and any(word in said for word in _SAYS_NO_MEMORY):
        return "memory"
    return None if number is None else _BY_SIGNAL.get(number)


def oom_kills() -> int:
    """How many processes of this machine the kernel has killed for want of memory."""
    try:
        text = Path("/proc/vmstat").read_text()
    except OSError:
        return 0
    return int(text.partition("\noom_kill ")[2].partition("\n")[0] or 0)
