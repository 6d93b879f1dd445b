"""Plans that somebody has to agree to before they spend: shown, and asked about."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from fanwise.cli.reading import reading
from fanwise.cli.say import say_lines
from fanwise.cli.streams import write_stderr
from fanwise.errors import RunNotFound, UsageError
from fanwise.specs.system import ApprovedRunnable, Opening

if TYPE_CHECKING:
    from fanwise.specs import Runnable
    from fanwise.specs.system import Approval


def is_approved(plan: Runnable, run_id: str | None, journal: str | None, *, yes: bool) -> bool:
    """Whether it may run. `UsageError`: nobody is there to ask."""
    wanted = _approval(plan, run_id, journal)
    if wanted is None:
        return True
    first, *others = wanted.lines
    say_lines([first, *(f"  {line}" for line in others)])
    if yes:
        return True
    if not (os.isatty(0) and os.isatty(2)):
        raise UsageError(
            "the plan has to be approved, and there is no terminal to ask at",
            "Look at it with `fanwise check`, then add --yes",
        )
    if _agreed(wanted.question):
        return True
    say_lines(["not approved; nothing was spent"])
    return False


def _approval(plan: Runnable, run_id: str | None, journal: str | None) -> Approval | None:
    if not isinstance(plan, ApprovedRunnable):
        return None
    opening: Opening = getattr(plan, "opening", Opening())
    known = run_id or opening.run_id
    with ExitStack() as stack:
        try:
            if known is not None:
                return plan.approval(*stack.enter_context(reading(journal, known)))
        except RunNotFound:
            pass
        return plan.approval(None, None)


def _agreed(question: str) -> bool:
    """Whether they typed yes. Anything else is a no, and so is the end of the input."""
    write_stderr(f"{question} [y/N] ")
    line = sys.stdin.readline()
    if not line:
        write_stderr("\n")
    return line.strip().lower() in ("y", "yes")
