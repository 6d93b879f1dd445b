"""`plan` and `plan_sync`: what a file says, said in Python. Who calls it has approved it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import msgspec

from fanwise.journal.port import Journal
from fanwise.kernel.environment import environment
from fanwise.kernel.events import Subscriber
from fanwise.kernel.run import MEMORY, open_run
from fanwise.kernel.sync import run_sync
from fanwise.plan.merge.publish import Delivery
from fanwise.plan.run.apply_result import deliver
from fanwise.plan.run.execution import execute
from fanwise.plan.spec.run_options import PlanRunOptions
from fanwise.plan.state.summary import LeafSummary, Summary
from fanwise.plan.system import KEY, RunnablePlan
from fanwise.plan.views.end_text import note_lines, output_lines
from fanwise.plan.views.estimate import start_notes
from fanwise.plan.views.next_commands import Commands
from fanwise.specs import Document
from fanwise.specs.plain import plain

Each = Mapping[str, Any] | Callable[..., Any]


class PlanResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of all sub-plans."""

    run_id: str
    summary: Summary
    """Every sub-plan with its state, conflicts, checks, and what was merged."""
    delivery: Delivery
    base: str
    """The commit that all started from."""
    notes: Sequence[str] = ()
    """For people."""
    output: Sequence[str] = ()

    @property
    def good(self) -> bool:
        """Whether all sub-plans are done, merged and checked."""
        return self.summary.good and not self.delivery.problem

    @property
    def leaves(self) -> Sequence[LeafSummary]:
        """In the order of the tree."""
        return self.summary.leaves

    @property
    def commit(self) -> str | None:
        """The result; None: there is none."""
        return None if self.summary.result is None else self.summary.result.commit

    @property
    def branch(self) -> str | None:
        """The branch that it is on."""
        return None if self.summary.result is None else self.summary.result.branch

    def leaf(self, title: str) -> LeafSummary:
        """That with this title; `LookupError`."""
        for each in self.leaves:
            if each.title == title:
                return each
        raise LookupError(title)


class PlanOptions(TypedDict, total=False):
    """The keyword arguments of `plan`, where they are explained."""

    files: str | Sequence[str]
    repo: str | os.PathLike[str]
    split: Mapping[str, Any] | None
    verify: str | None
    check: str | None
    max_parallel: int
    merge: str
    retry: int
    fail_fast: bool
    dirty: bool
    folder: str | os.PathLike[str]
    fields: Mapping[str, Any] | None
    apply: bool
    bisect: bool
    run: str | None
    retry_failed: bool
    journal: str | os.PathLike[str] | Journal | None
    subscribers: Iterable[Subscriber]


async def plan(
    goal: str,
    each: Each,
    *,
    files: str | Sequence[str] = (),
    repo: str | os.PathLike[str] = ".",
    split: Mapping[str, Any] | None = None,
    verify: str | None = None,
    check: str | None = None,
    max_parallel: int = 10,
    merge: str = "three_way",
    retry: int = 1,
    fail_fast: bool = False,
    dirty: bool = False,
    folder: str | os.PathLike[str] = ".",
    fields: Mapping[str, Any] | None = None,
    apply: bool = False,
    bisect: bool = False,
    run: str | None = None,
    retry_failed: bool = False,
    journal: str | os.PathLike[str] | Journal | None = None,
    subscribers: Iterable[Subscriber] = (),
) -> PlanResult:
    """Split the files of a repository into sub-plans, do them side by side, merge the changes.

    `each` is who does a sub-plan: as in a file (`{"command": …}`, `{"model": …}`), or a function,
    which is given a `Work`. A model may be an object. `files`, `split`, `verify`, `check`,
    `max_parallel`, `merge`, `retry`, `fail_fast`, `dirty`: as in a file, and whatever else a file
    may have in `fields`. `folder`: what paths are relative to. `apply`: write the result to the
    work tree. `bisect`: if the check fails, find the sub-plans to leave out. `run`: the id of a
    durable run, with the `journal` as for `open_run`; it goes on if it exists: sub-plans that are
    as they were are kept, and with `retry_failed` those that had failed run again. With neither,
    all is in memory. What is wrong is a `BadSpec`, before anything is run.
    """
    data: dict[str, Any] = {
        **plain(fields or {}),
        "repo": os.fspath(repo),
        "goal": goal,
        "files": plain(files),
        "max_parallel": max_parallel,
        "merge": merge,
        "retry": retry,
        "fail_fast": fail_fast,
        "dirty": dirty,
    }
    more = {"split": split, "verify": verify, "check": check}
    data.update((name, plain(value)) for name, value in more.items() if value is not None)
    data["each"], objects = _each(each)
    document = Document("plan(…)", _absolute(folder), {KEY: data}, objects=objects)
    made = RunnablePlan(document, options=PlanRunOptions(bisect=bisect, apply=apply))
    durable = run is not None or journal is not None
    opened = open_run(
        run,
        journal=journal if durable else MEMORY,
        retry_failed=retry_failed,
        may_change=True,
        kind=KEY,
        name=made.title,
        spec=made.spec,
        caps=made.caps,
        budget=made.budget,
        subscribers=subscribers,
    )
    async with opened as found:
        if durable:
            found.note("environment", environment(made.folder))
        resolved = made.resolved
        summary = await execute(resolved, found, bisect=bisect)
        found.conclude(summary.counts)
        delivery = await deliver(resolved, summary.result, found, to_work_tree=apply)
        commands = Commands(found)
        return PlanResult(
            run_id=found.id,
            summary=summary,
            delivery=delivery,
            base=resolved.base.commit,
            notes=[*start_notes(resolved), *note_lines(summary, delivery, commands)],
            output=output_lines(resolved, summary, delivery, commands),
        )


def plan_sync(goal: str, each: Each, **options: Unpack[PlanOptions]) -> PlanResult:
    """`plan` for code without an event loop."""
    return run_sync(plan(goal, each, **options))


def _each(given: Each) -> tuple[dict[str, Any], dict[str, Any]]:
    """As a file has it; an object becomes its name, with the object beside it."""
    if not isinstance(given, Mapping):
        name = f"{given.__module__}:{getattr(given, '__qualname__', type(given).__qualname__)}"
        return {"call": name}, {name: given}
    data = plain(given)
    model = data.get("model")
    if model is None or isinstance(model, str | dict):
        return data, {}
    return {**data, "model": model.name}, {model.name: model}


def _absolute(folder: str | os.PathLike[str]) -> Path:
    return Path(folder).absolute()
