"""The matrix by the real driver and the real kernel, in virtual time, on stand-ins for models.

Only what asks is left of the cells: a stand-in for each call. Functions of the user's are not
called, commands are not run, and scorers that ask nobody take no time.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from fanwise.core.retry import Retry
from fanwise.kernel.fan_out import fan_out
from fanwise.kernel.run import MEMORY, open_run
from fanwise.kernel.virtual_time import run_virtual
from fanwise.matrix.answers.steps import Answer, Subject
from fanwise.matrix.estimate.demand import Ask, CellDemand, DemandedItem
from fanwise.matrix.run.cell_choice import CellChoice
from fanwise.matrix.run.execution import execute
from fanwise.matrix.scores.scorers import Judging
from fanwise.matrix.simulation.attempts import SIMULATED, Attempts, error_of
from fanwise.matrix.simulation.result import SimulationPlan, SimulationRun
from fanwise.matrix.spec.compile import Compiled
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.models.ask import ask
from fanwise.models.port import Model, Reply, Request

NOTHING_SAID = Request(())
NO_BUDGET = "BudgetExceeded: the budget is used up"


def kernel_run(plan: SimulationPlan, attempts: Attempts, seed: int) -> SimulationRun:
    """All cells; how long it took, in virtual seconds."""
    with _chance(seed):
        took, done = run_virtual(_run(plan, attempts))
    results = done.results
    errors = [each.error for each in results if each.status == "failed"]
    errors += [NO_BUDGET for each in done.waiting if each.why == "budget"]
    unscored = [s.error for each in results for s in each.scores.values() if s.error]
    return SimulationRun(
        seed, took, attempts.totals, [error or "" for error in (*errors, *unscored)]
    )


async def _run(plan: SimulationPlan, attempts: Attempts) -> tuple[float, MatrixState]:
    compiled = _with_stand_ins(plan, attempts)
    clock = asyncio.get_running_loop().time
    began = clock()
    caps, budget = compiled.spec.make_caps(), compiled.spec.make_budget()
    async with open_run(journal=MEMORY, caps=caps, budget=budget) as run:
        done = await execute(compiled, run, CellChoice())
    return clock() - began, done


@contextmanager
def _chance(seed: int) -> Iterator[None]:
    """The kernel draws its backoff from the one generator of the process: the same on each run."""
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)


def _with_stand_ins(plan: SimulationPlan, attempts: Attempts) -> Compiled:
    compiled = plan.compiled
    demands = {each.cell.key: each for each in plan.demands}
    steps = {
        strategy: [
            StandInStep(step.name, number, demands, attempts, plan.retry, plan.timeout)
            for number, step in enumerate(made)
        ]
        for strategy, made in compiled.steps.items()
    }
    judges = [each for each in compiled.scorers if isinstance(each, Judging)]
    scorers = [
        StandInJudge(each.name, each.model, number, demands, attempts, plan.judge_retry)
        for number, each in enumerate(judges)
    ]
    return msgspec.structs.replace(compiled, steps=steps, scorers=scorers)


class StandInStep(msgspec.Struct, frozen=True):
    """A step of a strategy: its calls, and no more."""

    name: str
    number: int
    demands: dict[str, CellDemand]
    attempts: Attempts
    retry: Retry
    timeout: float | None

    @property
    def identity(self) -> Any:
        """The cells have their keys already."""
        return None

    async def answer(self, subject: Subject) -> Answer:
        """Let its calls pass."""
        item = self.demands[subject.cell.key].steps[self.number]
        key = f"{subject.cell.key} {self.number}"
        await _perform(item, key, self.attempts, self.retry, self.timeout)
        return {"text": "", "value": None}


class StandInJudge(msgspec.Struct, frozen=True):
    """A judge: one call."""

    name: str
    model: Model
    number: int
    demands: dict[str, CellDemand]
    attempts: Attempts
    retry: Retry

    @property
    def identity(self) -> Any:
        """Its name will do."""
        return self.name

    async def score(self, answer: Answer, subject: Subject) -> tuple[float, str | None]:
        """Let its call pass."""
        item = self.demands[subject.cell.key].scores[self.number]
        key = f"{subject.cell.key} score {self.number}"
        await _perform(item, key, self.attempts, self.retry, None)
        return 0.0, None


async def _perform(
    item: DemandedItem, key: str, attempts: Attempts, retry: Retry, timeout: float | None
) -> None:
    async def chain(number: int) -> None:
        await _chain(item.made, f"{key} {number}", attempts, retry, timeout)

    if item.wide == 1:
        await chain(0)
        return
    outcomes = await fan_out(chain, range(item.wide), cap=item.wide)
    if len(outcomes.failures) == item.wide:  # as in sampling: one chain that lives is enough
        outcomes[0].unwrap()


async def _chain(
    asks: Sequence[Ask], key: str, attempts: Attempts, retry: Retry, timeout: float | None
) -> None:
    for number, each in enumerate(asks):
        stand_in = StandIn(each, f"{key} {number}", attempts, timeout)
        await ask(stand_in, NOTHING_SAID, retry=retry)


class StandIn:
    """The model of one call."""

    __slots__ = ("_ask", "_attempts", "_made", "_place", "_timeout", "key", "name", "provider")

    def __init__(self, asked: Ask, place: str, attempts: Attempts, timeout: float | None) -> None:
        self.name = asked.model.name
        self.provider = asked.model.provider
        self.key = asked.model.key
        self._ask = asked
        self._place = place
        self._attempts = attempts
        self._timeout = timeout
        self._made = 0

    def estimate(self, request: Request) -> Any:
        """That of the call that it stands in for."""
        return self._ask.estimate

    async def reply(self, request: Request) -> Reply:
        """One attempt. It ends itself at its time-out: a timer fewer for each."""
        self._made += 1
        drawn = self._attempts.make(self._ask, self._place, self._made, self._timeout)
        await asyncio.sleep(drawn.seconds)
        error = error_of(drawn, self._ask.model)
        if error is not None:
            raise error
        usd = None if drawn.usage is None else drawn.usage.usd
        return Reply("", self.name, None, drawn.tokens, usd, None, drawn.seconds, SIMULATED)
