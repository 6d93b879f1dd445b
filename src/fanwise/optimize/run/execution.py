"""One execution: judge what has not been judged, and keep what earlier executions recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fanwise.core.caps import Caps
from fanwise.errors import WorkspaceError
from fanwise.kernel.fan_out import fan_out
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.repository_watch import RepositoryWatch
from fanwise.kernel.run import Run
from fanwise.kernel.run_files import files_of
from fanwise.kernel.scope import ledger_here, path_here
from fanwise.kernel.sent_workspaces import SentRepository, sent_repository
from fanwise.kernel.workspaces import open_workspaces
from fanwise.optimize.run.drive import drive
from fanwise.optimize.run.item_work import ItemWork
from fanwise.optimize.run.workbench import Workbench
from fanwise.optimize.spec.resolved_spec import ResolvedSpec
from fanwise.optimize.state.board import Board, board_options
from fanwise.optimize.state.item import FAN_OUT, NOISE, OptimizeItem
from fanwise.optimize.state.run_state import OptimizeState, read_state
from fanwise.workspaces import WorkspacePool
from fanwise.workspaces.source import Start, start_of

FOR_THE_ORIGINAL = 1
"""The workspaces that candidates do not use."""


async def execute(
    case: ResolvedSpec, run: Run, say: Callable[[str], None] = lambda text: None
) -> tuple[OptimizeState, str]:
    """Judge all candidates, and what is proposed. Also returns the commit that all start from.

    `say`: called before candidates are measured, with how long that will take.
    """
    start = await _start(case, run)
    spec = case.spec
    async with (
        RepositoryWatch(case.repo, run, path_here(FAN_OUT, run)) as watch,
        files_of(run) as folder,
        open_workspaces(
            case.repo,
            slots=spec.slots + FOR_THE_ORIGINAL,
            copy=spec.copy_,
            sparse=spec.sparse,
            base=None if start.plain else start.commit,
        ) as pool,
    ):
        await in_thread(_check_start, pool, start)
        await watch.begin()
        slots = len(pool) - FOR_THE_ORIGINAL
        board = Board(case.given, board_options(case), _claims(case, run))
        async with Workbench(case, pool, folder) as workbench, _sent(case, start, run) as sent:
            work = ItemWork(case, workbench, sent)
            await in_thread(work.original.load)
            declared = ledger_here(None, run).resources
            caps = Caps.over(ledger_here(case.caps(slots, declared), run))

            def learn(item: OptimizeItem, value: Any) -> None:
                work.learn(item, value)
                if item.key == f"baseline:{NOISE}":
                    say(board.state.measuring(spec.benched.budget))

            await drive(board, work.perform, caps, run, learn=learn, kept=work.kept)
    board.state.outside = watch.changed
    if board.fatal is not None:
        raise board.fatal
    return board.state, start.commit


@asynccontextmanager
async def _sent(case: ResolvedSpec, start: Start, run: Run) -> AsyncIterator[SentRepository | None]:
    """The repository for the workers of the run, if it has any."""
    if run.place_of_calls is None:
        yield None
        return
    async with sent_repository(case.repo, start.commit, case.spec.copy_) as sent:
        yield sent


async def _start(case: ResolvedSpec, run: Run) -> Start:
    """The commit that all candidates start from, as it was when the run began."""

    def look(_: str) -> dict[str, Any]:
        return start_of(case.repo, dirty=case.spec.dirty)._asdict()

    found = await fan_out(look, ["start"], cap=1, key=str, run=run, name="start")
    return Start(**found.values()[0])


def _check_start(pool: WorkspacePool, start: Start) -> None:
    if pool.tree != start.tree:
        raise WorkspaceError(
            "the folder is not as it was when this run began, and it has no repository to look in",
            "Start a new run, or put the folder back",
        )
    if len(pool) <= FOR_THE_ORIGINAL:
        raise WorkspaceError(
            "there is one workspace, and the original and a candidate need two",
            "Free space, and see what was said above",
        )


def _claims(case: ResolvedSpec, run: Run) -> dict[str, str]:
    if run.journal is None or not run.resumed:
        return {}
    return read_state(run.journal, run.id, case.given, path_here(FAN_OUT, run)).checked_for
