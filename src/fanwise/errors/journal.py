"""Errors about the journal and its runs."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from fanwise.errors.base import FanwiseError, UsageError


class BadRunId(UsageError):
    """A run id that is not a plain name."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(
            f"{run_id!r} is not a run id",
            "Use 1 to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit",
        )


class JournalError(FanwiseError):
    """The journal, or another file of a run, cannot be read or written."""


class JournalUnreadable(JournalError):
    """The file is not a journal, or it is damaged."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        super().__init__(
            f"{path} is not a readable journal: {problem}",
            "Nothing was changed. Move the file away, or use another journal with --journal",
        )


class JournalDamaged(JournalUnreadable):
    """A row in the journal is not what was written: `row` of the run `run_id`.

    `run_id` is None if the row does not say to which run it belongs; `row` is None if no row is
    broken in itself, but together they make no sense.
    """

    def __init__(self, path: str, run_id: str | None, row: str | None, problem: str) -> None:
        self.path = path
        self.run_id = run_id
        self.row = row
        self.problem = problem
        of_run = "" if run_id is None else f" of run {run_id!r}"
        what = f"{row or 'what was recorded'}{of_run} cannot be read ({problem})"
        step = "Restore the file from a copy, or start a new run; other runs in it may be intact"
        if row is None:
            step += ". If the file is intact, this is a bug: FANWISE_DEBUG=1 shows where"
        FanwiseError.__init__(self, f"{path} is damaged: {what}", step)


class JournalTooNew(JournalError):
    """The journal was written by a newer version of fanwise."""

    def __init__(self, path: str, found: str, known: str) -> None:
        self.path = path
        self.found = found
        self.known = known
        super().__init__(
            f"{path} has schema version {found}, this fanwise supports up to {known}",
            "Upgrade fanwise, or use another journal with --journal",
        )


class JournalNotWritable(JournalError):
    """The journal is read-only, full or locked. What was recorded before is safe.

    `opening`: nothing has been written yet, so there is nothing to resume.
    """

    def __init__(
        self, path: str, problem: str, *, opening: bool = False, next_step: str = ""
    ) -> None:
        self.path = path
        if opening:
            usual = "Nothing was started. Check free space and permissions, or use another with "
            usual += "--journal"
        else:
            usual = "What was recorded is safe. Check free space and permissions, then resume"
        super().__init__(f"cannot write to {path}: {problem}", next_step or usual)


class RunTakenOver(JournalNotWritable):
    """Another process owns the run now, so this one may not write to it."""

    def __init__(self, path: str, run_id: str, owner: str) -> None:
        self.run_id = run_id
        self.owner = owner
        super().__init__(
            path,
            f"run {run_id!r} was taken over by {owner}",
            next_step="This process has stopped working on it; what it recorded before is kept",
        )


class OutputNotWritable(JournalError):
    """Output could not be written to stdout or to a file.

    That is not the item's fault: the run ends without an outcome for it, and a resume runs it
    again.
    """

    def __init__(self, what: str, problem: str, next_step: str = "") -> None:
        self.what = what
        super().__init__(
            f"cannot write to {what}: {problem}",
            next_step or "What was recorded is safe. Check free space and permissions, then resume",
        )


class RunNotFound(JournalError, LookupError):
    """No run with that id. `known`: those that there are; None: nobody looked."""

    def __init__(self, run_id: str, known: Iterable[str] | None = None) -> None:
        self.run_id = run_id
        others = list(known or ())
        close = get_close_matches(run_id, others, n=1)
        step = f"Did you mean {close[0]!r}?" if close else "List the runs with: fanwise runs"
        if known is not None and not others:
            step = "This journal has no runs. One that was killed before its start was recorded "
            step += "has done nothing: start it again"
        super().__init__(f"there is no run {run_id!r}", step)


class RunExists(JournalError):
    """A new run was requested with an id that is already taken."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(
            f"run {run_id!r} already exists", f"Choose another id, or run: fanwise resume {run_id}"
        )


class RunIsLive(JournalError):
    """Another process is executing the run."""

    def __init__(
        self, run_id: str, owner: str, *, seen: bool = True, can_take_over: bool = False
    ) -> None:
        self.run_id = run_id
        self.owner = owner
        if seen:
            message = f"run {run_id!r} is being executed by {owner}"
            step = f"Wait for it, or end it with: fanwise cancel {run_id}"
            if can_take_over:
                step += f". If it hangs: fanwise resume {run_id} --take-over"
        else:
            message = f"run {run_id!r} belongs to {owner}, which cannot be checked from here"
            step = f"If it is no longer running: fanwise resume {run_id} --take-over"
        super().__init__(message, step)


class SpecChanged(JournalError):
    """The run was started with a different spec, so its outcomes do not fit this one."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(
            f"run {run_id!r} was started with a different spec",
            "Start a new run, or resume with the original spec",
        )
