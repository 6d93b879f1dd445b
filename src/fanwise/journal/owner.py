"""Which process executes a run, and whether it is still alive.

A pid alone is not enough: after a crash or a reboot it may belong to another process. So an owner
is a pid together with the start time of the process, the host, and the boot id.
"""

from __future__ import annotations

import os
import socket
import subprocess
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from fanwise.errors import RunIsLive
from fanwise.journal.port import Owner, RunRecord

Liveness = Literal["alive", "dead", "unknown"]


def current_owner() -> Owner:
    """This process."""
    pid = os.getpid()
    return Owner(pid=pid, host=socket.gethostname(), boot=_boot(), started=_started(pid) or "")


def liveness(owner: Owner) -> Liveness:
    """Whether the owner is alive; `unknown` if it is on another host."""
    if owner.host != socket.gethostname():
        return "unknown"
    if owner.boot != _boot():
        return "dead"
    started = _started(owner.pid)
    return "dead" if started is None or started != owner.started else "alive"


def describe(owner: Owner) -> str:
    """An owner, for messages."""
    return f"process {owner.pid} on {owner.host}"


def refuse_if_live(run: RunRecord, *, force: bool) -> None:
    """Raise `RunIsLive` if the run has an owner that is alive, or may be."""
    if run.owner is None:
        return
    state = liveness(run.owner)
    if state == "alive":
        raise RunIsLive(run.id, describe(run.owner))
    if state == "unknown" and not force:
        raise RunIsLive(run.id, describe(run.owner), seen=False)


def reclaimed(run: RunRecord, owner: Owner) -> RunRecord:
    """The run with a new owner."""
    return msgspec.structs.replace(
        run,
        status="running",
        owner=owner,
        ended_at=None,
        error=None,
        cancel_requested=False,
        caps_asked=None,
    )


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return _answer("sysctl", "-n", "kern.bootsessionuuid") or ""


def _started(pid: int) -> str | None:
    """The start time of a process, as the system reports it; None if it is gone or a zombie."""
    if Path("/proc/self/stat").exists():
        return _started_on_linux(pid)
    state, _, started = (
        _answer("ps", "-o", "stat=", "-o", "lstart=", "-p", str(pid)) or "Z"
    ).partition(" ")
    return None if state.startswith("Z") else started.strip()


def _started_on_linux(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The second field is the program's name in parentheses, which may contain both.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def _answer(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
