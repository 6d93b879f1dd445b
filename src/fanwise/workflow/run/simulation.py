"""`fanwise simulate` of a workflow: how long it takes, and which width or cap makes it so.

The fan-outs and caps are the kernel's own, in virtual time; a step only takes its time. What would
follow from outputs of steps is given, learned from a run, or assumed, and it is said which.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import Any, NamedTuple

from fanwise.core.caps import Caps
from fanwise.errors import UsageError
from fanwise.kernel.fan_out import fan_out
from fanwise.kernel.run import MEMORY, Run, open_run
from fanwise.kernel.virtual_time import run_virtual
from fanwise.specs import End
from fanwise.specs.model import seconds as read_seconds
from fanwise.view.formats import duration_text
from fanwise.workflow.expressions import Text, Value, truth
from fanwise.workflow.run.fan_out_steps import cap_of, items_of
from fanwise.workflow.spec import steps as spec
from fanwise.workflow.spec.references import most_of
from fanwise.workflow.spec.steps import Step
from fanwise.workflow.spec.workflow_file import LoadedWorkflow
from fanwise.workflow.state.frame import more_needs
from fanwise.workflow.views.graph import Chain, StepTotals

AGENT_S, OTHER_S = 60.0, 1.0
"""Assumed for a step that asks an agent, a model or another system, and for any other."""
QUICK = ("shell", "map", "call")
ITEMS = 10
WIDE = 1e9
Fanning = spec.FanOutStep | spec.MapStep
Factors = Mapping[str, float]
"""By how much a width or a cap is changed; `*`: all of them."""


class WorkflowSimulation:
    def __init__(
        self,
        workflow: LoadedWorkflow,
        inputs: Mapping[str, Any] | None,
        given: Mapping[str, str],
        items: Mapping[str, int],
        learned: Mapping[Chain, StepTotals],
    ) -> None:
        """`given`: durations by the id of a step, its type, or `all`. `items`: by fan-out."""
        self._workflow = workflow
        self._roots = {} if inputs is None else {"inputs": inputs}
        self._given = {name: _duration(name, text) for name, text in given.items()}
        self._items = items
        self._learned = learned
        ids = {each.id for each in workflow.walk()} | {each.type for each in workflow.walk()}
        for name in {*given, *items} - ids - {"all"}:
            raise UsageError(f"there is no step {name!r} in {workflow.document.name}")
        self.facts: dict[str, str] = {}
        """What each step was taken for, and from where that is known."""
        self.widths: dict[str, int] = {}
        """Of fan-outs, by id, and of caps."""
        self.work = 0.0

    def end(self) -> End:
        took = self._time({})
        work, limits = self.work, dict(self.widths)
        least = self._time({"*": WIDE})
        tried = {
            (name, factor): self._time({name: factor})
            for name in limits
            for factor in (0.5, 2.0, 4.0)
            if int(limits[name] * factor) >= 1
        }
        gains = {name: tried[name, 2.0] for name in limits if tried[name, 2.0] < took * 0.99}
        binds = min(gains, key=lambda name: gains[name]) if gains else None
        what_if = [
            (name, int(limits[name] * factor), time) for (name, factor), time in tried.items()
        ]
        told = "the steps themselves: no width or cap" if binds is None else (
            f"{_limit(binds, limits[binds])}; with {2 * limits[binds]}: {gains[binds] / took:.2f} x"
        )  # fmt: skip
        lines = [
            f"time               {duration_text(took)}",
            f"one after another  {duration_text(work)}",
            f"shortest possible  {duration_text(least)}, with no limit on any width or cap",
            f"binds              {told}",
            *(["", "what if"] if what_if else []),
            *(
                f"  {_limit(name, width):<30} {duration_text(time)}  {time / max(took, 1e-9):.2f} x"
                for name, width, time in what_if
            ),
            "",
            *(f"{name}: {fact}" for name, fact in self.facts.items()),
        ]
        times = {"seconds": took, "sequential_seconds": work, "least_seconds": least}
        document: dict[str, Any] = {**times, "binds": binds, "assumed": self.facts}
        document["what_if"] = [
            {"limit": name, "at": width, "seconds": time} for name, width, time in what_if
        ]
        notes = ["failures, retries and the time of people at gates are not simulated"]
        return End(document, lines, notes)

    def _time(self, factors: Factors) -> float:
        return run_virtual(self._run(factors))

    async def _run(self, factors: Factors) -> float:
        caps = {
            name: self._width(name, most_of(cap), factors)
            for name, cap in self._workflow.file.caps.items()
        }
        async with open_run(journal=MEMORY, caps=Caps(caps) if caps else None) as run:
            walk = _Walk(self, run, factors)
            await walk.steps(self._workflow.all_steps, _Here((), {}, self._roots))
        return asyncio.get_running_loop().time()

    def _width(self, name: str, width: int, factors: Factors) -> int:
        self.widths[name] = width
        return max(1, int(min(width * factors.get(name, factors.get("*", 1.0)), WIDE)))

    # -- what is not known before a run -----------------------------------------------------------

    def seconds(self, step: Step, chain: Chain) -> float:
        found, source = self._seconds(step, chain)
        if step.timeout is not None and step.timeout < found:
            found, source = step.timeout, "its timeout"
        self.facts[":".join(chain)] = f"{duration_text(found)} ({source})"
        return found

    def _seconds(self, step: Step, chain: Chain) -> tuple[float, str]:
        if isinstance(step, spec.GateStep | spec.FanInStep | spec.SlotStep):
            return 0.0, "no work"
        for name in (step.id, step.type, "all"):
            if name in self._given:
                return self._given[name], "given"
        learned = self._learned.get(chain)
        if learned is not None and learned.times:
            return mean(learned.times), "learned"
        return (OTHER_S if step.type in QUICK else AGENT_S), "assumed"

    def count(self, step: Fanning, chain: Chain, roots: Mapping[str, Any]) -> int:
        if step.id in self._items:
            return self._items[step.id]
        if step.items is not None and step.items.is_known(roots):
            return len(items_of(step, step.items, roots))
        inner = step.step.id if isinstance(step, spec.FanOutStep) else step.id
        return self._times((*chain, inner), chain, "items", ITEMS)

    def iterations(self, step: spec.LoopStep, chain: Chain, roots: Mapping[str, Any]) -> int:
        if step.condition.is_known(roots):  # no step changes it
            holds = truth(step.condition.render(roots))
            count = step.max_iterations if holds else int(isinstance(step, spec.DoWhileStep))
            told = f"{count} (the condition is {'always' if holds else 'never'} true)"
            self.facts[f"{':'.join(chain)} iterations"] = told
            return count
        first = step.steps[0].id if step.steps else ""
        return min(self._times((*chain, first), chain, "iterations", 1), step.max_iterations)

    def _times(self, inner: Chain, outer: Chain, what: str, assumed: int) -> int:
        inside, around = self._learned.get(inner), self._learned.get(outer)
        count, source = assumed, "assumed"
        if inside is not None and around is not None:
            count, source = max(1, round(len(inside.states) / len(around.states))), "learned"
        self.facts[f"{':'.join(outer)} {what}"] = f"{count} ({source})"
        return count

    def branch(
        self, chain: Chain, text: Value, branches: Sequence[tuple[str, Sequence[Step]]]
    ) -> Sequence[Step]:
        """Of a condition that is not known: the branch that ran most often, else the longest."""

        def often(steps: Sequence[Step]) -> tuple[int, float]:
            inside = [self._learned.get((*chain, each.id)) for each in steps]
            ran = max((len(each.states) for each in inside if each is not None), default=0)
            return ran, sum(self._seconds(each, (*chain, each.id))[0] for each in steps)

        name, steps = max(branches, key=lambda each: often(each[1]))
        source = "learned" if often(steps)[0] else "assumed, the longest"
        self.facts[f"{':'.join(chain)} branch"] = f"{name} ({source}): {text.source}"
        return steps


class _Here(NamedTuple):
    """Where a step stands, what all in here needs, and the names that are known."""

    chain: Chain
    needs: Mapping[str, int]
    roots: Mapping[str, Any]


class _Walk:
    def __init__(self, simulation: WorkflowSimulation, run: Run, factors: Factors) -> None:
        self._simulation = simulation
        self._run = run
        self._factors = factors

    async def steps(self, steps: Iterable[Step], around: _Here) -> None:
        roots = around.roots
        for step in steps:
            if step.if_ is None or not step.if_.is_known(roots) or truth(step.if_.render(roots)):
                needs = more_needs(around.needs, step.needs)
                await self._step(step, _Here((*around.chain, step.id), needs, roots))

    async def _step(self, step: Step, here: _Here) -> None:
        found, roots = self._simulation, here.roots
        chosen: Sequence[Step]
        match step:
            case spec.IfStep():
                branches = [("then", step.then), ("else", step.else_)]
                if step.condition.is_known(roots):
                    chosen = branches[0 if truth(step.condition.render(roots)) else 1][1]
                else:
                    chosen = found.branch(here.chain, step.condition, branches)
                await self.steps(chosen, here)
            case spec.SwitchStep():
                if step.expression.is_known(roots):
                    case = step.case(step.expression.render(roots))
                    chosen = step.default if case is None else step.cases[case]
                else:
                    every = [*step.cases.items(), ("default", step.default)]
                    chosen = found.branch(here.chain, step.expression, every)
                await self.steps(chosen, here)
            case spec.LoopStep():
                for _ in range(found.iterations(step, here.chain, roots)):
                    await self.steps(step.steps, here)
            case spec.WorkflowStep():
                await self.steps(step.target.steps, here._replace(roots={}))
            case spec.FanOutStep() | spec.MapStep():
                await self._fan_out(step, here)
            case _:
                await self._leaf([found.seconds(step, here.chain)], here)

    async def _leaf(self, seconds: Sequence[float], here: _Here, cap: int = 1) -> None:
        self._simulation.work += sum(seconds)
        await fan_out(asyncio.sleep, seconds, cap=cap, run=self._run, needs=lambda _: here.needs)

    async def _fan_out(self, step: Fanning, here: _Here) -> None:
        found = self._simulation
        count, width = found.count(step, here.chain, here.roots), step.max_concurrency
        if isinstance(width, Text):
            width = cap_of(step, here.roots) if width.is_known(here.roots) else ITEMS
        cap = found._width(step.id, width, self._factors)
        if isinstance(step, spec.MapStep):
            each = found.seconds(step, (*here.chain, step.id))
            await self._leaf([each] * count, here, cap)
            return

        async def one(_: int) -> None:
            await self.steps([step.step], here)

        for outcome in await fan_out(one, range(count), cap=cap, run=self._run):
            if outcome.error is not None:  # of the file: nothing else can fail
                raise outcome.error


def _limit(name: str, width: int) -> str:
    return f"{name}: {width} at once"


def _duration(name: str, text: str) -> float:
    try:
        return float(read_seconds(text))
    except ValueError as error:
        raise UsageError(
            f"--latency {name}={text} is no duration", f"Write: --latency {name}=2s"
        ) from error
