"""One execution of a run: what is known is kept, what is not is done."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from msgspec.structs import replace

from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.run import Run
from fanwise.kernel.run_files import files_of, kept_files
from fanwise.kernel.scope import current, path_here
from fanwise.kernel.workspaces import open_workspaces
from fanwise.plan.model.merge_result import PublishedResult
from fanwise.plan.run.drive import Took, drive
from fanwise.plan.run.earlier_items import leaf_named, read_earlier_items
from fanwise.plan.run.item_work import PlanItemWork
from fanwise.plan.run.keep_changes import keep_changes
from fanwise.plan.spec.resolved_plan import ResolvedPlan
from fanwise.plan.spec.run_options import PlanRunOptions
from fanwise.plan.state.board import board_of
from fanwise.plan.state.plan_item import FAN_OUT
from fanwise.plan.state.plan_state import PlanState, note_cut_off, plan_state
from fanwise.plan.state.policy import grower
from fanwise.plan.state.replay import (
    OUTSIDE,
    TOLD,
    bisected,
    cut_off_keys,
    earlier_outside,
    earlier_work_tree,
    merged_tasks,
    replay,
    reusable,
    reusable_success,
    told_by_user,
)
from fanwise.plan.work.sparse_folders import NOTHING, is_sparse
from fanwise.workspaces import WorkspacePool
from fanwise.workspaces.repository_state import differences, state_of


async def execute(
    resolved: ResolvedPlan,
    run: Run,
    options: PlanRunOptions = PlanRunOptions(),  # noqa: B008 - frozen
    *,
    took: Took = lambda board, item: None,
) -> PlanState:
    """Do all sub-plans, and bring together what they changed."""
    spec, base = resolved.spec, resolved.base
    path = path_here(FAN_OUT, run)
    before = await in_thread(read_earlier_items, run, resolved.git, path)
    bisect = options.bisect or bisected(each.key for each in before.records)
    merged = merged_tasks(before.records)
    known = board_of(spec, base, resolved.work, bisect=bisect, merged=merged)
    tell: dict[str, str] = {}
    if run.journal is not None and run.resumed:
        tell = await in_thread(told_by_user, run.journal, run.id, path)
    if options.retry:
        replay(known, before.records, reusable)
        leaf = leaf_named(known.tree, options.retry)
        before = before.without(leaf.id)
        known = board_of(spec, base, resolved.work, bisect=bisect, merged=merged)
        if options.tell:
            tell[leaf.id] = options.tell
            run.note(TOLD, {"path": path, "leaf": leaf.id, "text": options.tell})
    counts = reusable_success if _retries(run) else reusable
    board = board_of(spec, base, resolved.work, bisect=bisect, failed=before.failed, merged=merged)
    users: Mapping[str, str] | None = None
    async with AsyncExitStack() as stack:
        folder = await stack.enter_async_context(files_of(run))
        pool = None
        if replay(known, before.records, counts).left:
            users = await in_thread(state_of, resolved.place)
            pool = await stack.enter_async_context(_workspaces(resolved))
        work = await in_thread(
            PlanItemWork, resolved, pool, folder, tree=lambda: board.tree,
            grow=grower(spec, base), tell=tell,
        )  # fmt: skip
        caps = resolved.caps(len(pool or ()) or resolved.slots)
        await drive(board, work.perform, spec.max_parallel, caps, run, lost=before.lost, took=took)
        kept: Mapping[str, str] = {}
        if board.over and kept_files(run) is not None:
            kept = await in_thread(keep_changes, resolved.git, base.commit, board.entries, folder)
    if board.fatal is not None:
        raise board.fatal
    found = plan_state(board, kept, complete=board.over)
    outside: tuple[str, ...] = ()
    if run.journal is not None:
        where = (run.journal, run.id, path)
        found = replace(found, work_tree=await in_thread(earlier_work_tree, *where))
        outside = await in_thread(earlier_outside, *where)
        found = note_cut_off(found, await in_thread(cut_off_keys, *where))
    if users is not None:
        outside += await in_thread(_look_outside, resolved, users, found.result)
        run.note(OUTSIDE, {"path": path, "changed": outside})
    return replace(found, outside=tuple(dict.fromkeys(outside)))


def _look_outside(
    resolved: ResolvedPlan, before: Mapping[str, str], result: PublishedResult | None
) -> tuple[str, ...]:
    """What has changed in the user's repository since `before`, apart from our branch."""
    made = () if result is None else (f"refs/heads/{result.branch}",)
    return tuple(differences(before, state_of(resolved.place), without=made))


def _retries(run: Run) -> bool:
    """Whether failures of the past do not count: asked for, or in a step that is tried again."""
    around = current.get()
    return run.retries_failed or (around is not None and around.again)


def _workspaces(resolved: ResolvedPlan) -> AbstractAsyncContextManager[WorkspacePool]:
    files = resolved.base.files
    return open_workspaces(
        resolved.repo,
        slots=resolved.slots,
        copy=resolved.spec.copy_,
        sparse=NOTHING,  # who takes one says what it needs
        base=resolved.base.commit,
        whole=resolved.spec.check_ is not None and is_sparse(resolved.spec.sparse, files),
    )
