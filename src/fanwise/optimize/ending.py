"""What becomes of a run that has ended: who won, what is written, what people are told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from fanwise.errors import FanwiseError
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.kept_files import kept_files
from fanwise.kernel.run import Run
from fanwise.optimize.case import Case
from fanwise.optimize.driver.execution import Executed
from fanwise.optimize.driver.recorded import Recorded
from fanwise.optimize.message import message_of
from fanwise.optimize.telling import failure_lines, full_lines, speed_text, table_lines
from fanwise.optimize.verdicts import Verdict
from fanwise.optimize.winner import winner
from fanwise.specs.system import End
from fanwise.workspaces.results import apply_to_tree, check_branch, commit_on_branch, write_patch

PATCH = "winner.patch"


class Asked(msgspec.Struct, frozen=True):
    """What shall become of the winner, beside its patch file."""

    apply: bool = False
    branch: str | None = None

    def check(self, case: Case) -> None:
        """What would go wrong is said before hours are spent."""
        if self.branch is not None:
            check_branch(case.repo, self.branch)


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What the winner left behind."""

    winner: Verdict | None = None
    patch: str | None = None
    """The path of its file."""
    applied: Sequence[str] = ()
    """Files of the work tree that were changed."""
    commit: str | None = None
    """On the branch that was asked for."""
    problem: str = ""
    """Why it was not applied."""


async def end_of(case: Case, done: Executed, asked: Asked, run: Run) -> End:
    """Write what was asked for, and say what came of it. Exit code 1: there is no winner."""
    left = Left() if run.halting is not None else await leave(case, done, asked, run)
    document = {
        "winner": None if left.winner is None else left.winner.candidate.key,
        "patch": left.patch,
        "applied": list(left.applied),
        "commit": left.commit,
        "noise": done.baseline.get("noise"),
        "candidates": msgspec.to_builtins(done.verdicts),
        "failures": done.failures,
        "unproposed": done.unproposed,
        "unusable": msgspec.to_builtins(done.unusable),
    }
    bad = left.winner is None or bool(left.problem or done.failures or done.unproposed)
    output = [*table_lines(done.verdicts), *_winner_lines(left, asked)]
    return End(document, output, _notes(done, left), 1 if bad else 0)


def told_lines(found: Recorded, *, fully: bool) -> list[str]:
    """A run for `fanwise show`."""
    lines = table_lines(found.verdicts)
    if fully:
        lines += [line for each in found.verdicts for line in full_lines(each)]
    if found.waiting:
        lines.append(f"{len(found.waiting)} candidates have not been judged")
    best = winner(found.verdicts)
    if best is not None:
        lines.append(f"the best so far: {best.candidate.name}, {speed_text(best)}")
    return lines + failure_lines(found.failures, "stages failed")


async def leave(case: Case, done: Executed, asked: Asked, run: Run) -> Left:
    """Write the winner's patch file; change the work tree or make a branch if that was asked."""
    best = winner(done.verdicts)
    if best is None:
        return Left()
    folder = kept_files(run)
    patch = None if folder is None else folder / PATCH
    applied: Sequence[str] = ()
    commit, problem = None, ""
    if patch is not None:
        await in_thread(write_patch, patch, best.patch)
    try:
        if asked.apply:
            applied = await in_thread(apply_to_tree, case.repo, best.patch, done.base)
        if asked.branch is not None:
            message = message_of(best, "" if case.target is None else case.target.text())
            made = (case.repo, best.patch, done.base, asked.branch, message)
            commit = await in_thread(commit_on_branch, *made)
    except FanwiseError as error:
        problem = str(error)
    return Left(
        winner=best,
        patch=None if patch is None else str(_short(patch)),
        applied=applied,
        commit=commit,
        problem=problem,
    )


def _short(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _winner_lines(left: Left, asked: Asked) -> list[str]:
    if left.winner is None:
        return []
    lines = [f"the winner: {left.winner.candidate.name}, {speed_text(left.winner)}"]
    if left.patch is not None:
        lines.append(f"its patch: {left.patch}")
    if left.applied:
        lines.append(f"applied to {', '.join(left.applied)}")
    if left.commit is not None:
        lines.append(f"committed as {left.commit[:12]} on the branch {asked.branch}")
    return lines


def _notes(done: Executed, left: Left) -> list[str]:
    notes = list(done.notes)
    notes += failure_lines(done.failures, "candidates could not be judged")
    notes += failure_lines(done.unproposed, "proposals did not come")
    unusable: dict[str, Any] = {each.name: each.reason for each in done.unusable}
    notes += failure_lines(unusable, "answers were no candidates")
    if left.problem:
        notes.append(f"the winner was not applied: {left.problem}")
    if left.winner is None and done.complete:
        notes.append("none was proven faster")
    return notes
