"""`--hot N`: profile, rank, and optimise the first N functions, each judged by itself.

Each function is an item of the run, with a whole run of `optimize` inside, so what was judged is
kept by a resume and the budget holds for all together. Every accepted change is a commit of one
branch. All were judged against the same start, so at the end the tests run on the branch once more.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from fanwise.errors import FanwiseError
from fanwise.kernel.fan_out import fan_out
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.repository_watch import RepositoryWatch
from fanwise.kernel.run import Run
from fanwise.kernel.scope import path_here
from fanwise.kernel.workspaces import open_workspaces, workspace
from fanwise.optimize.benchmark.hot_functions import rank_functions
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.checking.run_tests import baseline_report, check_tests
from fanwise.optimize.run.delivery import message_of
from fanwise.optimize.run.execution import execute
from fanwise.optimize.run.workbench import settings_of
from fanwise.optimize.spec.resolved_spec import ResolvedSpec
from fanwise.optimize.state.hot_state import FUNCTIONS, PROFILE, TOGETHER, HotResult, HotState
from fanwise.optimize.verdict import winner
from fanwise.optimize.views.hot import hot_document, hot_lines
from fanwise.optimize.views.text import one_line, speed_text
from fanwise.specs.system import End
from fanwise.workspaces import Workspace
from fanwise.workspaces.results import commits_on_branch


async def execute_hot(
    case: ResolvedSpec, branch: str | None, run: Run, say: Callable[[str], None]
) -> End:
    """Exit code 1: no function became faster, or something could not be judged."""
    state = HotState()
    name = branch or f"faster/{run.id}"
    async with RepositoryWatch(case.repo, run, path_here(FUNCTIONS, run)) as watch:
        watch.own = (f"refs/heads/{name}",)
        await watch.begin()
        await _optimize_each(case, state, name, run, say)
    state.outside = watch.changed
    return _end(case, state)


async def _optimize_each(
    case: ResolvedSpec, state: HotState, branch: str, run: Run, say: Callable[[str], None]
) -> None:

    async def profile(_: str) -> Any:
        line = case.spec.hot_run or case.spec.test
        async with _checkout(case) as place:
            return msgspec.to_builtins(await rank_functions(place, line, settings_of(case)))

    async def optimise(target: str) -> Any:
        return msgspec.to_builtins(await _one(case, target, run, say))

    async def deliver(name: str) -> Any:
        return await _deliver(case, state, name)

    profiled = await fan_out(profile, ["profile"], cap=1, key=str, run=run, name=PROFILE)
    profiled.values()  # what is wrong with the command is wrong with the run
    state.apply(PROFILE, "profile", profiled[0])
    chosen = [each.target for each in state.ranked[: case.spec.hot]]
    outcomes = await fan_out(optimise, chosen, cap=1, key=str, run=run, name=FUNCTIONS)
    for target, outcome in zip(chosen, outcomes, strict=False):
        state.apply(FUNCTIONS, target, outcome)
    if state.made and run.halting is None:
        made = await fan_out(deliver, [branch], cap=1, key=str, run=run, name=TOGETHER)
        state.apply(TOGETHER, branch, made[0])


async def _one(case: ResolvedSpec, target: str, run: Run, say: Callable[[str], None]) -> HotResult:
    """A run of `optimize` for one function."""
    spec = case.spec.model_copy(update={"target": target, "hot": None})
    aimed = msgspec.structs.replace(case, spec=spec, target=Target.parse(target, inside=""))
    state, base = await execute(aimed, run, say)
    failed = {**state.unjudged, **state.unproposed}
    found = HotResult(
        target=target, base=base, candidates=len(state.verdicts),
        failures=tuple(f"{name}: {why}" for name, why in failed.items()),
        halted=state.counts.halted,
        rejected=sum(each.status == "rejected" for each in state.verdicts),
        reasons=tuple(
            f"{each.candidate.name} {each.status}, {one_line(each.reason)}"
            for each in state.verdicts
            if each.status != "accepted"
        ),
    )  # fmt: skip
    best = winner(state.verdicts)
    if best is None:
        return found
    more = {"message": message_of(best, target), "patch": best.patch, "speed": speed_text(best)}
    return msgspec.structs.replace(found, name=best.candidate.name, **more)


async def _deliver(case: ResolvedSpec, state: HotState, branch: str) -> dict[str, Any]:
    """Make the branch, and see whether the tests pass with all changes together."""
    made = state.made
    changes = [(each.patch, each.message) for each in made]
    try:
        commits = await in_thread(commits_on_branch, case.repo, changes, made[0].base, branch)
    except FanwiseError as error:
        return {"commits": [], "problem": str(error)}
    line, settings = case.spec.test, settings_of(case)
    async with _checkout(case, made[0].base) as place:
        before = await baseline_report(place, line, settings)
    async with _checkout(case, commits[-1]) as place:
        tested = await check_tests(place, line, before, settings)
    problem = "" if tested.ok else f"with all changes together: {tested.reason}"
    return {"commits": commits, "problem": problem}


@asynccontextmanager
async def _checkout(case: ResolvedSpec, commit: str | None = None) -> AsyncIterator[Workspace]:
    how = open_workspaces(case.repo, slots=1, copy=case.spec.copy_, base=commit)
    async with how as pool, workspace(pool) as place:
        yield place


def _end(case: ResolvedSpec, state: HotState) -> End:
    notes = ["no function was proven faster"] if not state.made else []
    notes += [f"the branch needs a look: {state.problem}"] if state.problem else []
    notes += [f"tests ran with {case.python}"]
    bad = not state.made or bool(state.problem or state.failures)
    return End(
        hot_document(state), hot_lines(state), notes, int(bad), state.counts,
        failures=state.failures,
    )  # fmt: skip
