"""Which ids a run may have."""

from __future__ import annotations

import re

from fanwise.errors import BadRunId

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def check_run_id(run_id: str) -> str:
    """Return the id, or raise `BadRunId`."""
    if not isinstance(run_id, str) or not _ID.fullmatch(run_id):
        raise BadRunId(str(run_id))
    return run_id
