"""What people can do from the view: cancel a run, and go on with one.

A run goes on in a process of its own, which outlives the view, as in a terminal.
"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing

import msgspec

from fanwise.errors import UsageError
from fanwise.journal.open import open_journal
from fanwise.journal.port import EventRecord, Journal
from fanwise.view.run_summary import shown_status

ACTIONS = {
    "cancel": ("Cancel", "Cancel this run? What is in flight is ended; what is done stays."),
    "resume": ("Resume", "Go on with this run? It may spend more."),
    "retry": ("Retry failed", "Run what failed again? It may spend more."),
}
"""By name: what the button says, and what is asked before."""


def possible(status: str, failed: int) -> list[str]:
    """What makes sense for a run of this status."""
    if status == "running":
        return ["cancel"]
    going_on = ["resume"] if status not in ("done", "damaged") else []
    return going_on + (["retry"] if failed else [])


def act(location: str | None, run_id: str, action: str, who: str) -> None:
    """Do it, and record who did. `UsageError` if it makes no sense, `RunNotFound`."""
    with closing(open_journal(location)) as journal:
        status = shown_status(journal.run(run_id))
        if action not in possible(status, failed=1):
            raise UsageError(f"run {run_id!r} cannot be {action}ed: it is {status}")
        _record(journal, run_id, action, who)
        if action == "cancel":
            journal.request_cancel(run_id)
            return
    _resume(location, run_id, ["--retry-failed"] if action == "retry" else [])


def _record(journal: Journal, run_id: str, action: str, who: str) -> None:
    data = msgspec.json.encode({"action": action, "by": who}).decode()
    journal.submit(EventRecord(run_id, time.time(), "asked", data))


def _resume(location: str | None, run_id: str, more: list[str]) -> None:
    where = [] if location is None else ["--journal", location]
    subprocess.Popen(
        [sys.executable, "-m", "fanwise", "resume", run_id, *where, *more],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
