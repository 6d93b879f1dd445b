"""The command that continues a run, as people type it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence


def resume_command(run_id: str, journal: str | None, more: Sequence[str] = ()) -> str:
    """The command. `journal`: as the user named it; None: the default one."""
    where = [] if journal is None else ["--journal", journal]
    return shlex.join(["fanwise", "resume", run_id, *where, *more])
