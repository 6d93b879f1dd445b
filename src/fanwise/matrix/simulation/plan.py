"""What is simulated, with which chances, and what comes of it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from random import Random

import msgspec

from fanwise.core.retry import Retry
from fanwise.matrix.estimate.demand import Ask, CellDemand
from fanwise.matrix.spec.compile import Compiled
from fanwise.matrix.spec.matrix_spec import MatrixSpec

TINY = 2.0**-54


class SimulationPlan(msgspec.Struct, frozen=True):
    """A matrix that is to be simulated."""

    compiled: Compiled
    """Its cells are in the order of dispatch."""
    demands: Sequence[CellDemand]
    """Of each cell."""
    retry: Retry
    judge_retry: Retry
    timeout: float | None

    def one_in(self, part: int) -> SimulationPlan:
        """Every so-many-th cell of each model and strategy, with that part of the budget."""
        if part == 1:
            return self
        spec = less_budget(self.compiled.spec, part)
        seen: Counter[tuple[str, str]] = Counter()
        cells, demands = [], []
        for cell, demand in zip(self.compiled.cells, self.demands, strict=True):
            group = (cell.model, cell.strategy)
            if seen[group] % part == 0:
                cells.append(cell)
                demands.append(demand)
            seen[group] += 1
        compiled = msgspec.structs.replace(self.compiled, spec=spec, cells=cells)
        return msgspec.structs.replace(self, compiled=compiled, demands=demands)


def less_budget(spec: MatrixSpec, part: int) -> MatrixSpec:
    """With that part of the budget."""
    if spec.budget is None or part == 1:
        return spec
    given = spec.budget.model_dump(exclude_none=True).items()
    less = spec.budget.model_copy(update={kind: most / part for kind, most in given})
    return spec.model_copy(update={"budget": less})


class SimulatedTotals(msgspec.Struct):
    """What all attempts of one model came to."""

    attempts: int = 0
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0


class SimulationRun(msgspec.Struct, frozen=True):
    seed: int
    seconds: float
    totals: Mapping[str, SimulatedTotals]
    """By model."""
    failed: int = 0
    """Cells and scores that failed."""
    first_failure: str | None = None

    @property
    def work_s(self) -> float:
        """All calls, one after another."""
        return sum(each.seconds for each in self.totals.values())


class Chances:
    """Two random numbers for every attempt of every call, the same in each simulation of a seed.

    So two caps are compared on the same calls, and not on other luck.
    """

    def __init__(self, plan: SimulationPlan, seed: int) -> None:
        self.seed = seed
        self.starts = array("q", accumulate(calls_of(plan.demands), initial=0))
        """The number of the first call of each cell."""
        chance = Random(seed).random
        self._first = array("d", (chance() or TINY for _ in range(2 * self.starts[-1])))

    def of(self, call: int, attempt: int) -> tuple[float, float]:
        """For the kind of its end, and for its latency; neither is 0 or 1."""
        if attempt == 1:
            return self._first[2 * call], self._first[2 * call + 1]
        later = Random(f"{self.seed} {call} {attempt}")
        return later.random() or TINY, later.random() or TINY


def calls_of(demands: Sequence[CellDemand]) -> Iterator[int]:
    """How many calls each makes; counted once for those that are shared."""
    calls = {id(each): each.calls for each in {id(each): each for each in demands}.values()}
    return (calls[id(each)] for each in demands)


def asks_of(demands: Sequence[CellDemand]) -> list[Ask]:
    """Every call of the demands, those that cells share only once."""
    unique = {id(each): each for each in demands}
    return [ask for each in unique.values() for ask in each.asks]
