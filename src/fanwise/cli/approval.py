"""Asking for approval before a run spends anything."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from fanwise.cli.messages import say_lines
from fanwise.cli.recorded_run import recorded_run
from fanwise.cli.streams import write_stderr
from fanwise.errors import JournalDamaged, JournalUnreadable, RunNotFound, UsageError
from fanwise.specs.system import ApprovedRunnable, Opening

if TYPE_CHECKING:
    from fanwise.specs import Runnable
    from fanwise.specs.system import Approval


def is_approved(runnable: Runnable, run_id: str | None, journal: str | None, *, yes: bool) -> bool:
    """Whether it may run. `UsageError` if there is no terminal to ask at."""
    wanted = _approval(runnable, run_id, journal)
    if wanted is None:
        return True
    first, *others = wanted.lines
    say_lines([first, *(f"  {line}" for line in others)])
    if yes:
        return True
    if not (os.isatty(0) and os.isatty(2)):
        raise UsageError(
            "the plan needs approval, and there is no terminal to ask at",
            "Review it with `fanwise check`, then add --yes",
        )
    if _agreed(wanted.question):
        return True
    say_lines(["not approved; nothing was spent"])
    return False


def _approval(runnable: Runnable, run_id: str | None, journal: str | None) -> Approval | None:
    if not isinstance(runnable, ApprovedRunnable):
        return None
    opening: Opening = getattr(runnable, "opening", Opening())
    known = run_id or opening.run_id
    with ExitStack() as stack:
        try:
            if known is not None:
                return runnable.approval(*stack.enter_context(recorded_run(journal, known)))
        except RunNotFound:
            pass
        except JournalUnreadable as error:
            # An empty or older one: whoever opens it for writing makes the tables, or says more.
            if isinstance(error, JournalDamaged):
                raise
        return runnable.approval(None, None)


def _agreed(question: str) -> bool:
    """Whether the answer is yes. Anything else is a no, including the end of the input."""
    write_stderr(f"{question} [y/N] ")
    line = sys.stdin.readline()
    if not line:
        write_stderr("\n")
    return line.strip().lower() in ("y", "yes")
