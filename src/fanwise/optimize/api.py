"""`optimize` and `optimize_sync`: what a file says, said in Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

import msgspec

from fanwise.core.notebook import html_lines
from fanwise.core.retry import RetryLike
from fanwise.core.stats import Stats
from fanwise.errors import NotOk, UsageError
from fanwise.kernel.in_run import RunArguments, SystemRun, in_run
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.run import Run
from fanwise.kernel.sync import sync_twin
from fanwise.optimize.run.delivery import Delivery, DeliveryOptions, deliver
from fanwise.optimize.run.execution import execute
from fanwise.optimize.state.run_state import OptimizeState
from fanwise.optimize.system import KEY, RunnableOptimize
from fanwise.optimize.verdict import CandidateVerdict
from fanwise.optimize.views.text import table_lines
from fanwise.specs import Document
from fanwise.specs.plain import plain, plain_fields, plain_model, plain_retry

Candidates = str | Sequence[str] | Mapping[str, Any]


class OptimizeResult(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts on all candidates, and the winner."""

    run_id: str | None
    """The durable run that has it; None: it was in memory."""
    verdicts: list[CandidateVerdict]
    """In the order of the candidates; those that were not judged are missing."""
    winner: CandidateVerdict | None = None
    """The one that is proven fastest; its `patch` is the change."""
    patch: str | None = None
    """The patch file; None if the run is in memory."""
    applied: Sequence[str] = ()
    """Files of the work tree that were changed by `apply`."""
    commit: str | None = None
    """The commit on the new branch."""
    problem: str = ""
    """Why the winner was not applied."""
    failures: Mapping[str, str] = {}
    """Candidates that could not be judged, and proposals that did not come, by name, and why."""
    noise: Any = None
    """Of the machine: what the original is beside itself."""
    notes: Sequence[str] = ()
    short: str = ""
    """Why less was done than was asked: the budget is used up, or the run was halted."""
    stats: Stats = Stats()

    @property
    def ok(self) -> bool:
        """Whether every candidate was judged, one is proven faster, and it was put in place."""
        missing = self.failures or self.short or self.problem
        return self.winner is not None and not missing

    def require(self) -> Self:
        """The result itself; `NotOk` if it is not `ok`."""
        if self.ok:
            return self
        told = [f"{name}: {why}" for name, why in self.failures.items()]
        told += [each for each in (self.short, self.problem) if each]
        raise NotOk("; ".join(told[:3]) or "no candidate was proven faster", self)

    def _repr_html_(self) -> str:
        return html_lines(table_lines(self.verdicts))

    def verdict(self, name: str) -> CandidateVerdict:
        """The verdict on a candidate, by its name; `LookupError` if there is none."""
        for each in self.verdicts:
            if each.candidate.name == name:
                return each
        raise LookupError(name)

    def table(self) -> str:
        """Every candidate with its verdict, as text."""
        return "\n".join(table_lines(self.verdicts))


async def optimize(
    target: str | None,
    candidates: Candidates,
    test: str,
    *,
    repo: str | os.PathLike[str] = ".",
    bench: Mapping[str, Any] | None = None,
    cap: int = 4,
    rounds: Mapping[str, int] | None = None,
    retry: RetryLike | None = None,
    accept: Mapping[str, float] | None = None,
    dirty: bool = False,
    copy: Sequence[str] = (),
    folder: str | os.PathLike[str] = ".",
    fields: Mapping[str, Any] | None = None,
    apply: bool = False,
    branch: str | None = None,
    **where: Unpack[RunArguments],
) -> OptimizeResult:
    """Judge candidates for a faster program, and find the one that is proven fastest.

    `target`: "src/pkg/graph.py::find", or None. `candidates`: patterns of files, or what a file
    has there: {"branches": "perf/*"}, {"propose": {"model": …, "n": 8}}. `test`: the command that
    they have to pass. `cap`: how many are judged at once (`slots` in a file). `bench`, `rounds`,
    `accept`, `dirty`, `copy`: as in a file, and whatever else a file may have in `fields`.
    `folder`: what paths are relative to. `apply`: write the winner to the work tree; `branch`:
    commit it on a new branch. `retry`: of the calls to the model that proposes; tests and
    benchmarks are never retried, because what they say is the verdict. `where`: the `RunArguments`.
    A durable run goes on if it exists. What is wrong is a `BadSpec`, before anything is run.
    """
    objects: dict[str, Any] = {}
    given = {
        "repo": os.fspath(repo), "target": target, "test": test, "slots": cap, "dirty": dirty,
        "candidates": _candidates(candidates, retry, objects), "copy": list(copy), "bench": bench,
        "rounds": rounds, "accept": accept,
    }  # fmt: skip
    data = plain_fields(fields, given)
    document = Document.of_program("optimize(…)", folder, {KEY: data}, objects)
    options = DeliveryOptions(apply, branch)
    made = await in_thread(RunnableOptimize, document, delivery=options)

    async def body(run: Run) -> tuple[OptimizeState, Delivery]:
        state, base = await execute(made.case, run)
        return state, await deliver(made.case, state, base, options, run)

    wanted = SystemRun.of(KEY, made, folder=made.folder)
    ended = await in_run(body, wanted, lambda found: found[0].counts, **where)
    return _result(*ended)


def _result(
    found: tuple[OptimizeState, Delivery], run_id: str | None, stats: Stats
) -> OptimizeResult:
    state, delivery = found
    return OptimizeResult(
        run_id=run_id,
        verdicts=state.verdicts,
        winner=delivery.winner,
        patch=delivery.patch,
        applied=delivery.applied,
        commit=delivery.commit,
        problem=delivery.problem,
        failures={**state.unjudged, **state.unproposed},
        noise=state.baseline.get("noise"),
        notes=state.notes,
        short=state.counts.short,
        stats=stats,
    )


optimize_sync = sync_twin(optimize)


def _candidates(
    given: Candidates, retry: RetryLike | None, objects: dict[str, Any]
) -> dict[str, Any]:
    """As a file has them; a model that is an object is kept in `objects`."""
    data: dict[str, Any] = plain(given if isinstance(given, Mapping) else {"files": given})
    propose = data.get("propose")
    if isinstance(propose, dict) and "model" in propose:
        propose["model"] = plain_model(propose["model"], objects)
        if retry is not None:
            propose["retry"] = plain_retry(retry)
    elif retry is not None:
        step = "Leave it out: tests and benchmarks run once, and what they say is the verdict"
        raise UsageError("retry is for a model that proposes, and none does", step)
    return data
