"""How to go on with a run that did not come to its end: the same words everywhere."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from fanwise.core.counts import Counts
from fanwise.errors import FanwiseError, JournalNotWritable, OutputNotWritable
from fanwise.kernel.run import Run
from fanwise.view.run_summary import status_text

NOTHING_STARTED = "Nothing was started; free space or permissions, or name another with --journal"


def resume_command(run_id: str, journal: str | None, more: Sequence[str] = ()) -> str:
    """What the person types to go on with it."""
    where = [] if journal is None else ["--journal", journal]
    return shlex.join(["fanwise", "resume", run_id, *where, *more])


def how_to_go_on(status: str, why: str | None, counts: Counts | None, command: str) -> list[str]:
    """What a run came to that is not done, and what to do about the rest."""
    step = f"to go on: {(why and counts and counts.go_on) or command}"
    return [status_text(status, why), f"  {step}"] if why else [f"{status}; {step}"]


def say_how_to_go_on(error: FanwiseError, run: Run, journal: str | None) -> None:
    """Give the error that ended a run the step that comes next."""
    command = resume_command(run.id, journal)
    if isinstance(error, JournalNotWritable | OutputNotWritable):
        error.next_step = (
            NOTHING_STARTED
            if run.record is None
            else f"What was recorded is safe; free space or permissions, then: {command}"
        )
    elif run.record is not None:
        error.add_note(f"to go on: {command}")
