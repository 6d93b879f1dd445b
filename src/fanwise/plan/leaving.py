"""What becomes of the result of a run: applied, if that was asked; or undone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from fanwise.errors import FanwiseError
from fanwise.journal.codec import JSON
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.kept_files import kept_files
from fanwise.kernel.run import Run
from fanwise.plan.asked import Asked
from fanwise.plan.case import Case
from fanwise.plan.driver.earlier import items_of
from fanwise.plan.estimate import number
from fanwise.plan.merge.merged import Result
from fanwise.plan.result import apply, rollback
from fanwise.plan.summary import Summary
from fanwise.specs.system import End


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the result, beside the branch or the patch."""

    patch: str | None = None
    """The path of its file."""
    applied: Sequence[str] = ()
    """Files of the work tree that were changed."""
    is_there: bool = False
    """The work tree has all of it, by now or since before."""
    problem: str = ""
    """Why it was not applied."""


async def leave(case: Case, found: Summary, asked: Asked, run: Run) -> Left:
    """Write the result to the work tree, if that was asked; say where its patch is."""
    result, folder = found.result, kept_files(run)
    if result is None:
        return Left()
    patch = None
    if result.patch is not None and folder is not None:
        patch = str(_short(folder / result.patch))
    if not asked.apply:
        return Left(patch=patch)
    try:
        files = await in_thread(apply, case.repo, case.base.commit, result.commit)
    except FanwiseError as error:
        return Left(patch=patch, problem=str(error))
    return Left(patch=patch, applied=files, is_there=True)


async def undone(case: Case, run: Run) -> End:
    """Undo what was applied, and remove the branch. Nothing else is done."""
    items = [] if run.journal is None else list(items_of(run.journal, run.id))
    value = next((each.value for each in items if each.key == "result"), None)
    if value is None:
        return End(notes=["there is no result, so there is nothing to undo"], exit_code=1)
    result = msgspec.convert(JSON.decode(value), Result)
    try:
        found = await in_thread(rollback, case.repo, case.base.commit, result)
    except FanwiseError as error:
        return End(notes=[f"nothing was undone: {error}"], exit_code=1)
    lines = (
        [f"put back in the work tree: {number(len(found.files), 'file')}"] if found.files else []
    )
    lines += [f"the branch {found.branch} was removed"] if found.branch else []
    notes = [found.kept] if found.kept else []
    if not lines and not notes:
        notes = ["nothing of the result was there any more"]
    return End(msgspec.to_builtins(found), lines, notes, 1 if found.kept else 0)


def _short(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
