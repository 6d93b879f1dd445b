"""After a run: keep changes that are in no result, write the result to the work tree, undo that."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from fanwise.errors import FanwiseError
from fanwise.journal.codec import JSON
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.run import Run
from fanwise.kernel.run_files import kept_files
from fanwise.kernel.scope import path_here
from fanwise.plan.merge.publish import PlanDelivery, RolledBack, apply, leave_parts, rollback
from fanwise.plan.merge.trees import commit_with
from fanwise.plan.model.merge_result import PublishedResult, WorkTree
from fanwise.plan.model.paths import patch_name
from fanwise.plan.spec.resolved_plan import ResolvedPlan
from fanwise.plan.spec.run_options import PlanRunOptions
from fanwise.plan.state.leaf_entry import LeafEntry
from fanwise.plan.state.plan_item import FAN_OUT
from fanwise.plan.state.plan_state import PlanState
from fanwise.plan.state.replay import (
    WORK_TREE,
    board_of,
    earlier_work_tree,
    items_of,
    replay,
    reusable,
)
from fanwise.plan.work.settle import keep_patch
from fanwise.workspaces.git import Git
from fanwise.workspaces.results import patch_between


async def deliver(
    resolved: ResolvedPlan, found: PlanState, run: Run, options: PlanRunOptions
) -> tuple[PlanState, PlanDelivery]:
    """Write the result to the work tree and to branches if asked to, and say where its patch is."""
    delivery = await _deliver(resolved, found.result, run, to_work_tree=options.apply)
    if options.branches and found.result is not None:
        made = (resolved.repo, resolved.base.commit, found.result, found.tree)
        delivery = replace(delivery, branches=await in_thread(leave_parts, *made))
    now = found.work_tree
    if delivery.is_there:
        now = "applied"
    elif now == "rolled back" and found.result is not None and found.result.branch is not None:
        now = ""  # the branch is there again
    await _note(run, now)
    return replace(found, work_tree=now), delivery


async def _deliver(
    resolved: ResolvedPlan, result: PublishedResult | None, run: Run, *, to_work_tree: bool
) -> PlanDelivery:
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


async def roll_back(resolved: ResolvedPlan, run: Run) -> RolledBack | None:
    """Undo what was applied and remove the branch; None if there is no result."""
    items = [] if run.journal is None else list(items_of(run.journal, run.id))
    value = next((each.value for each in items if each.key == "result"), None)
    if value is None:
        return None
    result = msgspec.convert(JSON.decode(value), PublishedResult)
    board = board_of(resolved.spec, resolved.base, resolved.work, items)
    replay(board, items, reusable)  # the tree with the sub-plans that leaves returned
    undone = await in_thread(rollback, resolved.repo, resolved.base.commit, result, board.tree)
    if undone.files or undone.branch:
        await _note(run, "rolled back")
    return undone


async def _note(run: Run, state: WorkTree) -> None:
    """Keep it for `show`, unless it is what the journal says already."""
    path = path_here(FAN_OUT, run)
    if run.journal is None:
        return
    if await in_thread(earlier_work_tree, run.journal, run.id, path) != state:
        run.note(WORK_TREE, {"path": path, "state": state})


def _short(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def keep_changes(
    git: Git, base: str, entries: Mapping[str, LeafEntry], folder: Path
) -> dict[str, str]:
    """Write the changes of leaves that are in no result as patches; return where each is.

    git may remove objects that nothing names. The first change of a leaf is kept: that of a second
    run lies on top of others.
    """
    found = {}
    for leaf, entry in entries.items():
        change = None if entry.result is None else entry.result.change
        if change is not None and entry.is_kept:
            patch = patch_between(git, base, commit_with(git, base, [change], change.title))
            found[leaf] = keep_patch(folder, patch_name(leaf), patch)
    return found
