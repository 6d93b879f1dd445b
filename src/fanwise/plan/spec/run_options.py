"""What was asked for on the command line, beside the file."""

from __future__ import annotations

from typing import Any

import msgspec

from fanwise.errors import UsageError


class PlanRunOptions(msgspec.Struct, frozen=True):
    bisect: bool = False
    """If the check fails, find the sub-plans to leave out."""
    dirty: bool = False
    """Start from what is in the work tree."""
    apply: bool = False
    """Write the result to the work tree."""
    rollback: bool = False
    """Undo what `apply` wrote, and remove the branch; nothing else is done."""
    branches: bool = False
    """Leave one branch for each sub-plan, too."""
    retry: str = ""
    """Try this sub-plan again: its title, or the beginning of its id."""
    tell: str = ""
    """What to say to it."""
    retry_failed: bool = False
    yes: bool = False
    """Approved beforehand: whoever asks, sees to that."""

    @staticmethod
    def of(rerun: str | None = None, **options: Any) -> PlanRunOptions:
        """Check the options. `UsageError`."""
        if rerun not in (None, "failed"):
            raise UsageError(
                f"--rerun {rerun} is not an option of `plan`",
                "Use `--rerun failed`; sub-plans that have changed run again by themselves",
            )
        asked = PlanRunOptions(retry_failed=rerun == "failed", **options)
        if asked.apply and asked.rollback:
            raise UsageError("--apply and --rollback exclude each other", "Leave one out")
        if asked.tell and not asked.retry:
            raise UsageError("--tell needs a sub-plan", "Name it: --retry LEAF --tell TEXT")
        return asked
