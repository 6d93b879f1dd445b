"""A matrix by the real driver and the real kernel, in virtual time, on stand-ins for models.

What `fanwise simulate` predicts is held against it: same calls, same chances.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fanwise.core.retry import Retry
from fanwise.errors import AttemptTimeout, ModelOverloaded, ModelRateLimited
from fanwise.kernel.fan_out import fan_out
from fanwise.kernel.run import MEMORY, open_run
from fanwise.kernel.virtual_time import run_virtual
from fanwise.matrix.answers.steps import Answer, Subject
from fanwise.matrix.estimate.demand import Ask, CellDemand, DemandedItem
from fanwise.matrix.run.cell_choice import CellChoice
from fanwise.matrix.run.execution import execute
from fanwise.matrix.scores.scorers import Judging
from fanwise.matrix.simulation.plan import Chances, SimulationPlan
from fanwise.matrix.simulation.profiles import ModelProfile
from fanwise.matrix.spec.compile import Compiled
from fanwise.models.ask import ask
from fanwise.models.port import Message, Model, Reply, Request, Tokens

NOTHING_SAID = Request((Message("user", ""),))


class KernelWorld(msgspec.Struct):
    """What the stand-ins share."""

    plan: SimulationPlan
    profiles: Mapping[str, ModelProfile]
    chances: Chances
    calls: int = 0

    def place(self, subject: Subject) -> tuple[CellDemand, int]:
        """What the cell demands, and the number of its first call."""
        number = self.numbers[subject.cell.key]
        return self.plan.demands[number], self.chances.starts[number]

    @property
    def numbers(self) -> dict[str, int]:
        return {cell.key: n for n, cell in enumerate(self.plan.compiled.cells)}


def kernel_run(
    plan: SimulationPlan, profiles: Mapping[str, ModelProfile], chances: Chances
) -> tuple[float, int, int]:
    """Seconds, calls, and how many cells and scores failed."""
    random.seed(chances.seed)  # the kernel draws its backoff from the generator of the process
    world = KernelWorld(plan, profiles, chances)
    took, failed = run_virtual(_run(world))
    return took, world.calls, failed


async def _run(world: KernelWorld) -> tuple[float, int]:
    compiled = _with_stand_ins(world)
    clock = asyncio.get_running_loop().time
    began = clock()
    caps, budget = compiled.spec.make_caps(), compiled.spec.make_budget()
    async with open_run(journal=MEMORY, caps=caps, budget=budget) as run:
        done = await execute(compiled, run, CellChoice())
    failed = sum(each.status == "failed" for each in done.results)
    failed += sum(each.why == "budget" for each in done.waiting)
    failed += sum(bool(s.error) for each in done.results for s in each.scores.values())
    return clock() - began, failed


def _with_stand_ins(world: KernelWorld) -> Compiled:
    compiled = world.plan.compiled
    steps = {
        strategy: [StandInStep(step.name, n, world) for n, step in enumerate(made)]
        for strategy, made in compiled.steps.items()
    }
    judges = [each for each in compiled.scorers if isinstance(each, Judging)]
    scorers = [StandInJudge(each.name, each.model, n, world) for n, each in enumerate(judges)]
    return msgspec.structs.replace(compiled, steps=steps, scorers=scorers)


class StandInStep(msgspec.Struct, frozen=True):
    """A step of a strategy: its calls, and no more."""

    name: str
    number: int
    world: KernelWorld

    @property
    def identity(self) -> Any:
        return None

    async def answer(self, subject: Subject) -> Answer:
        demand, call = self.world.place(subject)
        call += sum(each.calls for each in demand.steps[: self.number])
        plan = self.world.plan
        await _perform(self.world, demand.steps[self.number], call, plan.retry, plan.timeout)
        return {"text": "", "value": None}


class StandInJudge(msgspec.Struct, frozen=True):
    """A judge: one call."""

    name: str
    model: Model
    number: int
    world: KernelWorld

    @property
    def identity(self) -> Any:
        return self.name

    async def score(self, answer: Answer, subject: Subject) -> tuple[float, str | None]:
        demand, call = self.world.place(subject)
        before = [*demand.steps, *demand.scores[: self.number]]
        call += sum(each.calls for each in before)
        retry = self.world.plan.judge_retry
        await _perform(self.world, demand.scores[self.number], call, retry, None)
        return 0.0, None


async def _perform(
    world: KernelWorld, item: DemandedItem, call: int, retry: Retry, timeout: float | None
) -> None:
    async def chain(number: int) -> None:
        first = call + number * len(item.made)
        await _chain(world, item.made, first, retry, timeout)

    if item.wide == 1:
        await chain(0)
        return
    outcomes = await fan_out(chain, range(item.wide), cap=item.wide)
    if len(outcomes.failures) == item.wide:  # as in sampling: one chain that lives is enough
        outcomes[0].unwrap()


async def _chain(
    world: KernelWorld, asks: Sequence[Ask], call: int, retry: Retry, timeout: float | None
) -> None:
    for number, each in enumerate(asks):
        await ask(StandIn(world, each, call + number, timeout), NOTHING_SAID, retry=retry)


class StandIn:
    """The model of one call."""

    def __init__(self, world: KernelWorld, asked: Ask, call: int, timeout: float | None) -> None:
        self.name = asked.model.name
        self.provider = asked.model.provider
        self.key = asked.model.key
        self._world = world
        self._ask = asked
        self._call = call
        self._timeout = timeout
        self._made = 0

    def estimate(self, request: Request) -> Any:
        return self._ask.estimate

    async def reply(self, request: Request) -> Reply:
        """One attempt. It ends itself at its time-out."""
        self._made += 1
        self._world.calls += 1
        profile = self._world.profiles[self.name]
        seconds, output, failure = profile.draw(*self._world.chances.of(self._call, self._made))
        if self._timeout is not None and seconds > self._timeout:
            await asyncio.sleep(self._timeout)
            raise AttemptTimeout(self._timeout)
        await asyncio.sleep(seconds)
        if failure is not None:
            kind = ModelRateLimited if failure == "refused" else ModelOverloaded
            raise kind("no", provider=self.provider, model=self.name,
                       input_tokens=0, output_tokens=0, usd=0.0)  # fmt: skip
        tokens = self._ask.tokens if output is None else Tokens(self._ask.tokens.input, output)
        return Reply("", self.name, None, tokens, self._ask.usd, None, seconds, "test")
