"""One execution of a run: what is known is kept, what is not is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import msgspec

from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.kept_files import files_of, kept_files
from fanwise.kernel.run import Run
from fanwise.kernel.scope import current
from fanwise.kernel.workspaces import open_workspaces
from fanwise.plan.case import Case
from fanwise.plan.driver.board import Board
from fanwise.plan.driver.cones import NOTHING, is_sparse
from fanwise.plan.driver.drive import drive
from fanwise.plan.driver.earlier import earlier, path_here
from fanwise.plan.driver.keeping import keep_changes
from fanwise.plan.driver.replay import replay
from fanwise.plan.driver.wanted import Wanted
from fanwise.plan.driver.work import Work
from fanwise.plan.ended import SubPlan
from fanwise.plan.node import Tree
from fanwise.plan.split.grow import grow
from fanwise.plan.split.patterns import Patterns
from fanwise.workspaces import WorkspacePool


class Executed(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    board: Board
    kept: Mapping[str, str]
    """Where the changes of leaves are that are in no result."""
    notes: Sequence[str]
    complete: bool
    """Nobody halted or cancelled it from outside."""


async def execute(
    case: Case, run: Run, *, bisect: bool = False, grew: Callable[[Tree], None] = lambda tree: None
) -> Executed:
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
    return Executed(
        board=board,
        kept=kept,
        notes=_notes(case),
        complete=board.over,
    )


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


def _notes(case: Case) -> list[str]:
    """What is not as one would think."""
    notes = []
    base = case.base
    if base.uncommitted:
        notes.append(uncommitted_text(base.uncommitted))
    if is_sparse(case.spec.sparse, base.files):
        notes.append(
            f"workspaces had only the folders that a sub-plan needs, of {base.files:,} files; "
            "`sparse: [folders]` names more, `sparse: false` checks out all"
        )
    return notes


def uncommitted_text(count: int) -> str:
    """Of a dirty tree."""
    files, them = ("file is", "it") if count == 1 else ("files are", "them")
    return f"{count} {files} not committed: left out; --dirty includes {them}"
