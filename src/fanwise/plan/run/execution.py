"""One execution of a run: what is known is kept, what is not is done."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial

from msgspec.structs import replace

from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.repository_watch import RepositoryWatch
from fanwise.kernel.run import Run
from fanwise.kernel.run_files import files_of, kept_files
from fanwise.kernel.scope import current, path_here
from fanwise.kernel.sent_workspaces import sent_repository
from fanwise.kernel.workspaces import open_workspaces
from fanwise.plan.merge.publish import branch_name
from fanwise.plan.run.apply_result import keep_changes
from fanwise.plan.run.drive import Took, drive
from fanwise.plan.run.earlier_items import leaf_named, read_earlier_items
from fanwise.plan.run.item_work import PlanItemWork
from fanwise.plan.spec.resolved_plan import ResolvedPlan
from fanwise.plan.spec.run_options import PlanRunOptions
from fanwise.plan.state.plan_item import FAN_OUT
from fanwise.plan.state.plan_state import PlanState, note_cut_off, plan_state
from fanwise.plan.state.policy import grower
from fanwise.plan.state.replay import (
    TOLD,
    board_of,
    cut_off_keys,
    earlier_work_tree,
    replay,
    reusable,
    reusable_success,
    told_by_user,
)
from fanwise.plan.work.sparse_folders import NOTHING, is_sparse
from fanwise.workspaces import WorkspacePool


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
    plan = partial(board_of, spec, base, resolved.work, bisect=options.bisect)
    known = plan(before.records)
    tell: dict[str, str] = {}
    if run.journal is not None and run.resumed:
        tell = await in_thread(told_by_user, run.journal, run.id, path)
    if options.retry:
        replay(known, before.records, reusable)
        leaf = leaf_named(known.tree, options.retry)
        before = before.without(leaf.id)
        known = plan(before.records)
        if options.tell:
            tell[leaf.id] = options.tell
            run.note(TOLD, {"path": path, "leaf": leaf.id, "text": options.tell})
    counts = reusable_success if _retries(run) else reusable
    board = plan(before.records, failed=before.failed)
    watch = RepositoryWatch(resolved.repo, run, path)
    watch.own = (f"refs/heads/{branch_name(resolved.tree.root.id)}",)
    async with watch, AsyncExitStack() as stack:
        folder = await stack.enter_async_context(files_of(run))
        pool, sent = None, None
        if replay(known, before.records, counts).left:
            await watch.begin()
            away = run.place_of_calls is not None
            pool = await stack.enter_async_context(_workspaces(resolved, 1 if away else None))
            if away:
                repository = sent_repository(resolved.repo, base.commit, spec.copy_)
                sent = await stack.enter_async_context(repository)
        work = await in_thread(
            PlanItemWork, resolved, pool, folder, tree=lambda: board.tree,
            grow=grower(spec, base), tell=tell, sent=sent,
        )  # fmt: skip
        here = 0 if pool is None or sent is not None else len(pool)
        caps = resolved.caps(here or resolved.slots)
        await drive(board, work.perform, spec.max_parallel, caps, run, lost=before.lost, took=took)
        kept: Mapping[str, str] = {}
        if board.over and kept_files(run) is not None:
            kept = await in_thread(keep_changes, resolved.git, base.commit, board.entries, folder)
    found = replace(plan_state(board, kept, complete=board.over), outside=watch.changed)
    if board.fatal is not None:
        raise board.fatal
    if run.journal is not None:
        where = (run.journal, run.id, path)
        found = replace(found, work_tree=await in_thread(earlier_work_tree, *where))
        found = note_cut_off(found, await in_thread(cut_off_keys, *where))
    return found


def _retries(run: Run) -> bool:
    """Whether failures of the past do not count: asked for, or in a step that is tried again."""
    around = current.get()
    return run.retries_failed or (around is not None and around.again)


def _workspaces(
    resolved: ResolvedPlan, slots: int | None
) -> AbstractAsyncContextManager[WorkspacePool]:
    files = resolved.base.files
    return open_workspaces(
        resolved.repo,
        slots=slots or resolved.slots,
        copy=resolved.spec.copy_,
        sparse=NOTHING,  # who takes one says what it needs
        base=resolved.base.commit,
        whole=resolved.spec.check_ is not None and is_sparse(resolved.spec.sparse, files),
    )
