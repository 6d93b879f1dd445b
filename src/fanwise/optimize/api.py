"""`optimize` and `optimize_sync`: what a file says, said in Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import msgspec

from fanwise.journal.port import Journal
from fanwise.kernel.environment import environment
from fanwise.kernel.events import Subscriber
from fanwise.kernel.run import MEMORY, open_run
from fanwise.kernel.sync import run_sync
from fanwise.models.port import Model
from fanwise.optimize.run.delivery import DeliveryOptions, deliver
from fanwise.optimize.run.execution import execute
from fanwise.optimize.system import KEY, RunnableOptimize
from fanwise.optimize.verdicts.verdict import Verdict
from fanwise.optimize.views.text import table_lines
from fanwise.specs import Document
from fanwise.specs.plain import plain

Candidates = str | Sequence[str] | Mapping[str, Any]


class OptimizeResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of all candidates."""

    run_id: str
    verdicts: list[Verdict]
    """In the order of the candidates; those that were not judged are missing."""
    winner: Verdict | None = None
    """The one that is proven fastest; its `patch` is the change."""
    patch: str | None = None
    """The file of that patch; None in memory."""
    applied: Sequence[str] = ()
    """Files of the work tree that were changed."""
    commit: str | None = None
    """On the branch that was asked for."""
    problem: str = ""
    """Why the winner was not applied."""
    failures: Mapping[str, str] = {}
    """Candidates that could not be judged, by name, and why."""
    unproposed: Mapping[str, str] = {}
    """Proposals that did not come, and why."""
    noise: Any = None
    """Of the machine: what the original is beside itself."""
    notes: Sequence[str] = ()

    def verdict(self, name: str) -> Verdict:
        """That of a candidate, by its name; `LookupError`."""
        for each in self.verdicts:
            if each.candidate.name == name:
                return each
        raise LookupError(name)

    def table(self) -> str:
        """Every candidate with its verdict, as text."""
        return "\n".join(table_lines(self.verdicts))


class OptimizeOptions(TypedDict, total=False):
    """The keyword arguments of `optimize`, where they are explained."""

    repo: str | os.PathLike[str]
    bench: Mapping[str, Any] | None
    slots: int
    rounds: Mapping[str, int] | None
    accept: Mapping[str, float] | None
    dirty: bool
    copy: Sequence[str]
    folder: str | os.PathLike[str]
    fields: Mapping[str, Any] | None
    apply: bool
    branch: str | None
    run: str | None
    journal: str | os.PathLike[str] | Journal | None
    subscribers: Iterable[Subscriber]


async def optimize(
    target: str | None,
    candidates: Candidates,
    test: str,
    *,
    repo: str | os.PathLike[str] = ".",
    bench: Mapping[str, Any] | None = None,
    slots: int = 4,
    rounds: Mapping[str, int] | None = None,
    accept: Mapping[str, float] | None = None,
    dirty: bool = False,
    copy: Sequence[str] = (),
    folder: str | os.PathLike[str] = ".",
    fields: Mapping[str, Any] | None = None,
    apply: bool = False,
    branch: str | None = None,
    run: str | None = None,
    journal: str | os.PathLike[str] | Journal | None = None,
    subscribers: Iterable[Subscriber] = (),
) -> OptimizeResult:
    """Judge candidates for a faster program, and find the one that is proven fastest.

    `target`: "src/pkg/graph.py::find", or None. `candidates`: patterns of files, or what a file
    has there: {"branches": "perf/*"}, {"propose": {"model": …, "n": 8}}. `test`: the command that
    they have to pass. `bench`, `slots`, `rounds`, `accept`, `dirty`, `copy`: as in a file, and
    whatever else a file may have in `fields`. `folder`: what paths are relative to. `apply`: write
    the winner to the work tree; `branch`: commit it on a new branch. `run`: the id of a durable
    run, with the `journal` as for `open_run`; it goes on if it exists. With neither, all is in
    memory. What is wrong is a `BadSpec`, before anything is run.
    """
    data: dict[str, Any] = {
        **plain(fields or {}),
        "repo": os.fspath(repo),
        "target": target,
        "candidates": _candidates(candidates),
        "test": test,
        "slots": slots,
        "dirty": dirty,
        "copy": list(copy),
    }
    more = {"bench": bench, "rounds": rounds, "accept": accept}
    data.update((name, plain(value)) for name, value in more.items() if value is not None)
    options = DeliveryOptions(apply, branch)
    plan = _plan(data, folder, options)
    durable = run is not None or journal is not None
    opened = open_run(
        run,
        journal=journal if durable else MEMORY,
        kind=KEY,
        name=plan.title,
        spec=plan.spec,
        caps=plan.caps,
        budget=plan.budget,
        subscribers=subscribers,
    )
    async with opened as found:
        if durable:
            found.note("environment", environment(plan.folder))
        done = await execute(plan.case, found)
        found.conclude(done.counts)
        delivery = await deliver(plan.case, done, options, found)
        return OptimizeResult(
            run_id=found.id,
            verdicts=done.verdicts,
            winner=delivery.winner,
            patch=delivery.patch,
            applied=delivery.applied,
            commit=delivery.commit,
            problem=delivery.problem,
            failures=done.failures,
            unproposed=done.unproposed,
            noise=done.baseline.get("noise"),
            notes=done.notes,
        )


def optimize_sync(
    target: str | None, candidates: Candidates, test: str, **options: Unpack[OptimizeOptions]
) -> OptimizeResult:
    """`optimize` for code without an event loop."""
    return run_sync(optimize(target, candidates, test, **options))


def _plan(
    data: dict[str, Any], folder: str | os.PathLike[str], options: DeliveryOptions
) -> RunnableOptimize:
    objects = _models(data["candidates"])
    where = Path(folder).absolute()
    return RunnableOptimize(
        Document("optimize(…)", where, {KEY: data}, objects=objects), delivery=options
    )


def _candidates(given: Candidates) -> Any:
    return plain(given) if isinstance(given, Mapping) else {"files": plain(given)}


def _models(candidates: dict[str, Any]) -> dict[str, Model]:
    """A model that is an object becomes its name, with the object beside it."""
    propose = candidates.get("propose")
    if not isinstance(propose, dict):
        return {}
    model = propose.get("model")
    if model is None or isinstance(model, str | dict):
        return {}
    propose["model"] = model.name
    return {model.name: model}
