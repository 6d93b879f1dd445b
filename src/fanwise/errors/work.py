"""Errors about commands and workspaces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fanwise.errors.base import FanwiseError, UsageError


class CommandFailed(FanwiseError):
    """A command exited with a code other than 0, or was ended by a signal."""

    def __init__(self, result: Any, summary: str) -> None:
        self.result = result
        super().__init__(summary)


class SandboxUnavailable(FanwiseError):
    """Code that nobody has read was to run in a sandbox, and there is none; it did not run."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"there is no sandbox on this machine: {problem}",
            "Install bubblewrap (`apt install bubblewrap`, `dnf install bubblewrap`), or let the "
            "code run with your permissions and network: `--no-sandbox`, or `sandbox: false` in "
            "the file",
        )


class NoFreeWorkspace(UsageError):
    """A workspace was requested while all were in use, because no cap limits the requests."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        super().__init__(
            f"all {slots} workspaces are in use",
            f"Give the items that use them a cap: caps=Caps(workspaces={slots}) and "
            'needs=lambda item: "workspaces"',
        )


class WorkspaceError(FanwiseError):
    """A workspace could not be created, reset or used."""


class GitFailed(WorkspaceError):
    """A git command failed. `said` is its stderr."""

    def __init__(self, command: str, said: str) -> None:
        self.command = command
        self.said = said
        super().__init__(f"{command} failed: {said or 'no output'}")


class NoWorkspaces(WorkspaceError):
    """Not a single slot of a pool could be created; `reasons` has one reason for each."""

    def __init__(self, repo: str, reasons: Iterable[str]) -> None:
        self.repo = repo
        self.reasons = list(reasons)
        why = "; ".join(dict.fromkeys(self.reasons))
        super().__init__(
            f"no workspace of {repo} could be created: {why}",
            "Check that a `git clone` of it works",
        )


class PatchFailed(WorkspaceError):
    """A patch does not apply; nothing of it was applied. `said` is git's reason."""

    def __init__(self, said: str) -> None:
        self.said = said
        super().__init__(
            f"the patch does not apply: {said}",
            "Make it with `git diff` against the commit that the workspaces start from",
        )


class NotApplied(FanwiseError):
    """A result was not written to the tree or to a branch; nothing was changed.

    `files` are in the way.
    """

    def __init__(self, message: str, next_step: str = "", files: Iterable[str] = ()) -> None:
        self.files = list(files)
        super().__init__(
            message, next_step or "The patch file has the result: try `git apply --3way`"
        )
