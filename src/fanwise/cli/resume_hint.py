"""The hint that says how to continue a run: the same words everywhere."""

from __future__ import annotations

from fanwise.core.counts import Counts
from fanwise.errors import FanwiseError, JournalNotWritable, OutputNotWritable
from fanwise.kernel.run import Run
from fanwise.view.resume_command import resume_command
from fanwise.view.run_summary import status_text

NOTHING_STARTED = "Nothing was started; check free space and permissions, or use another --journal"


def resume_lines(status: str, why: str | None, counts: Counts | None, command: str) -> list[str]:
    """The status of an unfinished run, and how to continue it."""
    step = f"to continue: {(why and counts and counts.go_on) or command}"
    return [status_text(status, why), f"  {step}"] if why else [f"{status}; {step}"]


def add_resume_hint(error: FanwiseError, run: Run, journal: str | None) -> None:
    """Add the command that continues the run to the error that ended it."""
    command = resume_command(run.id, journal)
    if isinstance(error, JournalNotWritable | OutputNotWritable):
        error.next_step = (
            NOTHING_STARTED
            if run.record is None
            else f"What was recorded is safe; check free space and permissions, then: {command}"
        )
    elif run.record is not None:
        error.add_note(f"to continue: {command}")
