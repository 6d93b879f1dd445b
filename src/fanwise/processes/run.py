"""Run a command to its end, and leave nothing of it behind.

Whichever way it ends, by itself, by the time-out or by cancellation, its whole process group is
dead and its child reaped before this returns or raises. What that includes is told in
`family.py`; what happens when fanwise itself is killed, in `guard.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from fanwise.processes.child import Child
from fanwise.processes.command import Command
from fanwise.processes.result import CommandResult

GRACE_S = 2.0
"""Seconds between SIGTERM and SIGKILL."""


async def run_command(
    command: Command,
    *,
    timeout: float | None = None,
    grace: float = GRACE_S,
    spill: Path | None = None,
    hide: Sequence[bytes] = (),
    daemons: bool = True,
) -> CommandResult:
    """Run a command and return how it ended, whatever its exit code; see `require_success`.

    On a time-out or a cancellation all its processes get SIGTERM and, after `grace` seconds,
    SIGKILL; a second cancellation ends the grace. Processes that the program left behind, in its
    group or with its output open, have as long to end by themselves. Output beyond the
    command's `keep` goes to a file in `spill`, complete; without it, its middle is dropped.
    `hide`: what is masked in its output before that is stored or cut. `daemons`: whether processes
    may stay that have left the group and closed its output, as those that are started to stay do.

    A command that takes more than its `limits` allow is killed at once. Where a sandbox was asked
    for and there is none, nothing runs: `SandboxUnavailable`.

    A program that cannot be started is a `CommandFailed` with exit code 127 (not found) or 126.
    """
    child = Child(command, spill, hide)
    told = False
    try:
        result = await _run(child, timeout, grace, daemons=daemons)
        told = True
        return result
    finally:
        child.close(keep_output=told)


async def _run(
    child: Child, timeout: float | None, grace: float, *, daemons: bool
) -> CommandResult:
    timed_out = left_behind = False
    try:
        timed_out = not await child.exited(timeout)
        if not timed_out and not child.broken and not child.exceeds:
            left_behind = not await child.quiet(grace, daemons=daemons) and not child.exceeds
    except asyncio.CancelledError:
        await child.end(grace)
        raise
    if child.exceeds:
        await child.end(0.0)
    elif timed_out or left_behind or child.broken:
        await child.end(grace)
    return child.result(timed_out=timed_out, left_behind=left_behind)
