"""One execution of a run: what is known is kept, what is not is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.kept_files import files_of, kept_files
from fanwise.kernel.run import Run
from fanwise.kernel.scope import current
from fanwise.kernel.workspaces import open_workspaces
from fanwise.plan.model.leaf_result import SubPlan
from fanwise.plan.model.node import Tree
from fanwise.plan.run.drive import drive
from fanwise.plan.run.earlier_items import earlier, path_here
from fanwise.plan.run.item_work import Work
from fanwise.plan.run.keep_changes import keep_changes
from fanwise.plan.spec.resolved_spec import Case
from fanwise.plan.split.grow import grow
from fanwise.plan.split.patterns import Patterns
from fanwise.plan.state.board import Board
from fanwise.plan.state.policy import Wanted
from fanwise.plan.state.replay import replay
from fanwise.plan.state.summary import Summary, summary_of
from fanwise.plan.work.sparse_folders import NOTHING
from fanwise.workspaces import WorkspacePool


async def execute(
    case: Case, run: Run, *, bisect: bool = False, grew: Callable[[Tree], None] = lambda tree: None
) -> Summary:
    """Do all sub-plans, and bring together what they changed."""
    before = await in_thread(earlier, run, case.git, path_here())
    wanted = wanted_of(case, bisect=bisect)
    board = Board(case.tree, wanted, grower(case), failed=before.failed)
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(files_of(run))
        pool = None
        if replay(Board(case.tree, wanted, grower(case)), before.records, _retries(run)):
            pool = await stack.enter_async_context(_workspaces(case))
        work = await in_thread(Work, case, pool, folder, tree=lambda: board.tree, grow=grower(case))
        caps = case.caps(len(pool or ()) or case.slots)
        await drive(
            board, work.perform, case.spec.max_parallel, caps, run, lost=before.lost, grew=grew
        )
        kept: Mapping[str, str] = {}
        if board.over and kept_files(run) is not None:
            base = case.base.commit
            kept = await in_thread(keep_changes, case.git, base, board.entries, folder)
    if board.fatal is not None:
        raise board.fatal
    return summary_of(board, kept, complete=board.over)


def _retries(run: Run) -> bool:
    """Whether failures of the past do not count: asked for, or in a step that is tried again."""
    around = current.get()
    return run.retries_failed or (around is not None and around.again)


def _workspaces(case: Case) -> AbstractAsyncContextManager[WorkspacePool]:
    return open_workspaces(
        case.repo,
        slots=case.slots,
        copy=case.spec.copy_,
        sparse=NOTHING,  # who takes one says what it needs
        base=case.base.commit,
    )


def wanted_of(case: Case, *, bisect: bool) -> Wanted:
    """As the board takes it."""
    spec = case.spec
    shared = Patterns(case.shared)
    return Wanted(
        base=case.base.commit,
        work=case.work,
        strategy=spec.merge,
        check=spec.check_,
        bisect=bisect,
        fail_fast=spec.fail_fast,
        result=spec.result,
        shared=lambda path: bool(case.shared) and shared.match(path),
    )


def grower(case: Case) -> Callable[[Tree, str, Sequence[SubPlan]], Tree]:
    """Puts sub-plans below a leaf, by the rules of the plan."""

    def grown(tree: Tree, leaf: str, subplans: Sequence[SubPlan]) -> Tree:
        return grow(
            tree,
            leaf,
            subplans,
            rules=case.rules,
            digests=case.base.digests,
            tokens=case.base.tokens,
            goal=case.spec.goal,
        )

    return grown
