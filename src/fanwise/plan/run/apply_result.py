"""After a run: write its result to the work tree if asked to, or undo that."""

from __future__ import annotations

from pathlib import Path

import msgspec

from fanwise.errors import FanwiseError
from fanwise.journal.codec import JSON
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.kept_files import kept_files
from fanwise.kernel.run import Run
from fanwise.plan.merge.publish import PlanDelivery, Undone, apply, rollback
from fanwise.plan.model.merge_result import PublishedResult
from fanwise.plan.spec.resolved_plan import ResolvedPlan
from fanwise.plan.state.replay import items_of


async def deliver(
    resolved: ResolvedPlan, result: PublishedResult | None, run: Run, *, to_work_tree: bool
) -> PlanDelivery:
    """Write the result to the work tree if asked to, and say where its patch is."""
    folder = kept_files(run)
    if result is None:
        return PlanDelivery()
    patch = None
    if result.patch is not None and folder is not None:
        patch = str(_short(folder / result.patch))
    if not to_work_tree:
        return PlanDelivery(patch=patch)
    try:
        files = await in_thread(apply, resolved.repo, resolved.base.commit, result.commit)
    except FanwiseError as error:
        return PlanDelivery(patch=patch, problem=str(error))
    return PlanDelivery(patch=patch, applied=files, is_there=True)


async def roll_back(resolved: ResolvedPlan, run: Run) -> Undone | None:
    """Undo what was applied and remove the branch; None if there is no result."""
    items = [] if run.journal is None else items_of(run.journal, run.id)
    value = next((each.value for each in items if each.key == "result"), None)
    if value is None:
        return None
    result = msgspec.convert(JSON.decode(value), PublishedResult)
    return await in_thread(rollback, resolved.repo, resolved.base.commit, result)


def _short(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
