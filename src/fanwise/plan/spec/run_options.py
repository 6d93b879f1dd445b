"""What was asked for on the command line, beside the file."""

from __future__ import annotations

import msgspec

from fanwise.errors import UsageError


class PlanRunOptions(msgspec.Struct, frozen=True):
    """What somebody wants of a plan, this time."""

    bisect: bool = False
    """If the check fails, find the sub-plans to leave out."""
    dirty: bool = False
    """Start from what is in the work tree."""
    apply: bool = False
    """Write the result to the work tree."""
    rollback: bool = False
    """Undo what `apply` wrote, and remove the branch; nothing else is done."""
    retry_failed: bool = False
    yes: bool = False
    """Approved beforehand: whoever asks, sees to that."""

    @staticmethod
    def of(rerun: str | None = None, **options: bool) -> PlanRunOptions:
        """From the options. `UsageError`."""
        if rerun not in (None, "failed"):
            raise UsageError(
                f"--rerun {rerun} means nothing to `plan`",
                "Give failed; what has changed runs anew by itself",
            )
        asked = PlanRunOptions(retry_failed=rerun == "failed", **options)
        if asked.apply and asked.rollback:
            raise UsageError("--apply and --rollback are both given", "Leave one out")
        return asked
