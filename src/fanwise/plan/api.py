"""`run_plan`: what a file says, said in Python. Who calls it has approved it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, Unpack

import msgspec

from fanwise.core.notebook import html_lines
from fanwise.core.retry import Retry, RetryLike, as_retry
from fanwise.core.stats import Stats
from fanwise.errors import NotOk, UsageError
from fanwise.kernel.in_run import RunArguments, SystemRun, in_run
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.run import Run
from fanwise.kernel.sync import sync_twin
from fanwise.plan.merge.publish import PlanDelivery
from fanwise.plan.run.apply_result import deliver
from fanwise.plan.run.execution import execute
from fanwise.plan.spec.plan_spec import KEY
from fanwise.plan.spec.resolved_plan import ResolvedPlan
from fanwise.plan.spec.run_options import PlanRunOptions
from fanwise.plan.state.plan_state import LeafState, PlanState
from fanwise.plan.system import RunnablePlan
from fanwise.plan.views.end_text import Commands, note_lines, output_lines
from fanwise.plan.views.estimate import start_notes
from fanwise.specs import Document
from fanwise.specs.plain import plain, plain_fields, plain_model

Each = Mapping[str, Any] | Callable[..., Any]


class PlanResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of all sub-plans."""

    run_id: str | None
    """The durable run that has it; None: it was in memory."""
    state: PlanState
    """Every sub-plan with its state, conflicts, checks, and what was merged."""
    delivery: PlanDelivery
    base: str
    """The commit that all started from."""
    stats: Stats = Stats()
    notes: Sequence[str] = ()
    """For people."""
    output: Sequence[str] = ()

    @property
    def ok(self) -> bool:
        """Whether all sub-plans are done, merged and checked."""
        return self.state.ok and not self.delivery.problem

    @property
    def failures(self) -> Sequence[LeafState]:
        """The sub-plans that are not done, or are not in the result."""
        return self.state.failures

    def require(self) -> Self:
        """The result itself; `NotOk` if it is not `ok`."""
        if self.ok:
            return self
        failed = len(self.failures)
        told = [f"{failed} of {len(self.leaves)} sub-plans are not done"] if failed else []
        raise NotOk("; ".join([*told, *self.notes[:1]]) or "the result is in doubt", self)

    def _repr_html_(self) -> str:
        return html_lines([*self.output, *self.notes])

    @property
    def leaves(self) -> Sequence[LeafState]:
        """In the order of the tree."""
        return self.state.leaves

    @property
    def commit(self) -> str | None:
        """The commit of the result; None if there is no result."""
        return None if self.state.result is None else self.state.result.commit

    @property
    def branch(self) -> str | None:
        """The branch of the result; None if there is none."""
        return None if self.state.result is None else self.state.result.branch

    def leaf(self, title: str) -> LeafState:
        """The leaf with this title. `LookupError` if there is none."""
        for each in self.leaves:
            if each.title == title:
                return each
        raise LookupError(title)


async def run_plan(
    goal: str,
    each: Each,
    *,
    files: str | Sequence[str] = (),
    repo: str | os.PathLike[str] = ".",
    split: Mapping[str, Any] | None = None,
    verify: str | None = None,
    check: str | None = None,
    cap: int = 10,
    retry: RetryLike = 1,
    fail_fast: bool = False,
    dirty: bool = False,
    folder: str | os.PathLike[str] = ".",
    fields: Mapping[str, Any] | None = None,
    apply: bool = False,
    bisect: bool = False,
    retry_failed: bool = False,
    **where: Unpack[RunArguments],
) -> PlanResult:
    """Split the files of a repository into sub-plans, do them side by side, merge the changes.

    `each` is who does a sub-plan: as in a file (`{"command": …}`, `{"model": …}`), or a function,
    which is given a `Work`. A model may be an object. `cap`: how many at once. `retry`: further
    tries of a sub-plan that failed, each told why. `files`, `split`, `verify`, `check`,
    `fail_fast`, `dirty`: as in a file, and whatever else a file may have in `fields`. `folder`:
    what paths are relative to. `apply`: write the result to the work tree. `bisect`: if the check
    fails, find the sub-plans to leave out. `where`: the `RunArguments`. A durable run goes on if it
    exists: sub-plans that are as they were are kept, and with `retry_failed` those that had failed
    run again. What is wrong is a `BadSpec`, before anything is run.
    """
    doing, objects = _each(each)
    given = {
        "repo": os.fspath(repo), "goal": goal, "files": files, "max_parallel": cap,
        "retry": _times(retry), "fail_fast": fail_fast, "dirty": dirty, "each": doing,
        "split": split, "verify": verify, "check": check,
    }  # fmt: skip
    data = plain_fields(fields, given)
    document = Document.of_program("run_plan(…)", folder, {KEY: data}, objects)
    options = PlanRunOptions(bisect=bisect, apply=apply)
    made = await in_thread(RunnablePlan, document, options=options)
    wanted = SystemRun.of(KEY, made, folder=made.folder, may_change=True, retry_failed=retry_failed)

    async def body(run: Run) -> PlanResult:
        return await _result(made.resolved, options, run)

    found, run_id, stats = await in_run(body, wanted, lambda each: each.state.counts, **where)
    return msgspec.structs.replace(found, run_id=run_id, stats=stats)


async def _result(resolved: ResolvedPlan, options: PlanRunOptions, run: Run) -> PlanResult:
    state = await execute(resolved, run, options)
    state, delivery = await deliver(resolved, state, run, options)
    commands = Commands(run)
    return PlanResult(
        run_id=None,
        state=state,
        delivery=delivery,
        base=resolved.base.commit,
        notes=[*note_lines(state, delivery, commands), *start_notes(resolved)],
        output=output_lines(resolved, state, delivery, commands),
    )


run_plan_sync = sync_twin(run_plan)


def _each(given: Each) -> tuple[dict[str, Any], dict[str, Any]]:
    """As a file has it; an object becomes its name, with the object beside it."""
    objects: dict[str, Any] = {}
    if isinstance(given, Mapping):
        data = plain(given)
        if "model" in data:
            data["model"] = plain_model(given["model"], objects)
        return data, objects
    name = f"{given.__module__}:{getattr(given, '__qualname__', type(given).__qualname__)}"
    return {"call": name}, {name: given}


def _times(retry: RetryLike) -> int:
    given = as_retry(retry)
    if given != Retry(given.times):
        step = "Give a number: the next try begins at once, and is told why the last one failed"
        raise UsageError(f"retry of a plan is {retry!r}", step)
    return given.times
