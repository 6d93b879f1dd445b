"""The command that continues a run, as people type it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from fanwise.journal.postgres.address import is_postgres, without_password


def resume_command(run_id: str, journal: str | None, more: Sequence[str] = ()) -> str:
    """The command. `journal`: as the user named it; None: the default one.

    It is printed and recorded, so the password of a server's address is left out.
    """
    if journal is not None and is_postgres(journal):
        journal = without_password(journal)
    where = [] if journal is None else ["--journal", journal]
    return shlex.join(["fanwise", "resume", run_id, *where, *more])
