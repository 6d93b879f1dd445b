"""Named places at which a test can kill the process, to prove that resume works from there.

`FANWISE_CRASH_AT=name` kills with SIGKILL at the first visit of that point, `name:3` at the
third. Without the variable a point costs one test of a module global.
"""

from __future__ import annotations

import os
import signal

POINTS: dict[str, str] = {
    "run.created": "the run is on disk, nothing has been started",
    "item.before_start": "an item has its permits, its start is not on disk yet",
    "item.started": "an item's start is on disk, its work has not begun",
    "item.worked": "an item's work has ended, nothing is recorded of it",
    "item.recorded": "an item's outcome is on disk, nobody has been told",
    "journal.before_commit": "a batch is written to the transaction, not committed",
    "journal.after_commit": "a batch is committed, nobody has been told",
    "run.before_end": "all items have ended, the run is not marked as ended",
}

_target, _, _count = os.environ.get("FANWISE_CRASH_AT", "").partition(":")
_left = int(_count or 1)
if _target and _target not in POINTS:
    raise ValueError(
        f"FANWISE_CRASH_AT names no crash point: {_target!r}. Known: {', '.join(POINTS)}"
    )


def crash_point(name: str) -> None:
    """Die here if the environment asks for it."""
    if _target and _target == name:
        _visit()


def _visit() -> None:
    global _left
    _left -= 1
    if _left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
