"""The whole simulation of a file: draws, bounds, what binds, what if.

The first draws are made by the whole kernel, which takes a third of a millisecond a call; the
others, and every "what if", by its ledger alone, which takes a fifth of that and gives the same
times. A "what if" is simulated on the calls of the draw that is told of, so that the two differ in
the caps alone. A limit that is used by less than a quarter is left as it is: half of it would do.
How much is simulated depends on the file and on nothing else: the same file, the same answer.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from fanwise.matrix.cells.cell import in_dispatch_order
from fanwise.matrix.estimate.demand import CellDemand, demand_of
from fanwise.matrix.simulation.attempts import Attempts, Cache
from fanwise.matrix.simulation.constraints import Constraint, Load, constraints_of, load_on
from fanwise.matrix.simulation.kernel_run import kernel_run
from fanwise.matrix.simulation.ledger_run import ledger_run
from fanwise.matrix.simulation.result import SimulationPlan, SimulationRun
from fanwise.matrix.simulation.world import World
from fanwise.matrix.spec.compile import Compiled, compile_
from fanwise.matrix.spec.matrix_spec import MatrixSpec
from fanwise.models.ask import MODEL_RETRY, worth_a_retry
from fanwise.models.unconnected import Unconnected
from fanwise.specs import Document, check
from fanwise.specs.system import Assumed

KERNEL_CALLS = 10_000
"""Calls that the whole kernel simulates, all draws together; at least one draw."""
MOST_KERNEL_DRAWS = 5
LEDGER_CALLS = 12_000
"""The same for further draws by the ledger; at least two."""
MOST_DRAWS = 10
WHAT_IF_CALLS = 120_000
"""The same for what ifs; those that matter most come first."""
NEAR = 0.25
"""What is used by less is far from binding, also at half of it."""
BUSY = 0.5
"""What is used by less needs not be raised."""
HELPS = 0.99
"""What takes less than this part of the time helps."""


class WhatIf(msgspec.Struct, frozen=True):
    """Another cap or rate, and how long it would take then."""

    change: str
    seconds: float
    failed: int
    """Cells and scores that fail then: with more failures it may be over sooner."""
    constraint: Constraint | None = None
    """None: several at once."""

    def helps(self, now: SimulationRun) -> bool:
        """Whether fewer cells fail, or as many in less time."""
        failed = len(now.failures)
        quicker = self.seconds < HELPS * now.seconds
        return self.failed < failed or (self.failed == failed and quicker)


class Bound(msgspec.Struct, frozen=True):
    """A constraint: how much of it is used, and the least time that it allows."""

    constraint: Constraint
    used: float
    least_s: float


class Simulated(msgspec.Struct, frozen=True):
    """What came out."""

    compiled: Compiled
    world: World
    draws: Sequence[SimulationRun]
    middle: SimulationRun
    """The one with the median time: bounds and what ifs are of this one."""
    kernel_draws: int
    apart: float
    """How far the ledger's time was from the kernel's, at most, as a part of it."""
    bounds: Sequence[Bound]
    longest_cell_s: float
    what_ifs: Sequence[WhatIf]
    left_out: Sequence[Constraint]
    """Of these no what if was simulated: they are far from binding, or there are too many."""

    @property
    def lower_bound(self) -> tuple[float, str]:
        """No schedule is faster, and why."""
        found = [(each.least_s, str(each.constraint)) for each in self.bounds]
        return max([*found, (self.longest_cell_s, "the longest cell")], key=lambda each: each[0])

    @property
    def binds(self) -> WhatIf | None:
        """The change of one constraint that helps most, if any does: cells first, then time."""
        single = [each for each in self.what_ifs if each.constraint is not None]
        best = min(single, key=lambda each: (each.failed, each.seconds), default=None)
        return best if best is not None and best.helps(self.middle) else None


def simulate(document: Document, key: str, assumed: Assumed) -> Simulated:
    """Simulate the matrix that stands there. `BadSpec`, `UsageError`."""
    spec = check(document, MatrixSpec, key)
    where = document.at(key)
    inputs = spec.inputs.load(where.at("inputs"))
    compiled = compile_(spec, inputs, where, connected=False)
    ordered = msgspec.structs.replace(compiled, cells=in_dispatch_order(compiled.cells))
    demands = demand_of(ordered)
    world = World((ask.model for each in demands for ask in each.asks), assumed)
    retry = MODEL_RETRY if spec.retry is None else spec.retry.retry(worth_a_retry)
    plan = SimulationPlan(ordered, demands, retry, MODEL_RETRY, spec.timeout)
    with _old_objects_left_alone():
        return _Simulator(plan, world).simulate()


@contextmanager
def _old_objects_left_alone() -> Iterator[None]:
    """The collector need not look at the cells again and again: that is half of the time."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class _Simulator:
    def __init__(self, plan: SimulationPlan, world: World) -> None:
        self._plan = plan
        self._world = world
        self._caches: defaultdict[int, Cache] = defaultdict(dict)
        """By seed: the what ifs use one of them again."""
        self._models = _models(plan.demands)
        self._calls = max(1, sum(len(i.made) * i.wide for d in plan.demands for i in d.items))

    def simulate(self) -> Simulated:
        draws, kernel_draws, apart = self._draws()
        self._now = sorted(draws, key=lambda each: each.seconds)[(len(draws) - 1) // 2]
        constraints = constraints_of(self._plan.compiled, self._models)
        bounds = [self._bound(each) for each in constraints]
        what_ifs, left_out = self._what_ifs(bounds)
        return Simulated(
            self._plan.compiled, self._world, draws, self._now, kernel_draws, apart, bounds,
            0.0 if self._now.failures else self._longest_cell(), what_ifs, left_out,
        )  # fmt: skip

    def _draws(self) -> tuple[list[SimulationRun], int, float]:
        kernel = max(1, min(MOST_KERNEL_DRAWS, KERNEL_CALLS // self._calls))
        more = max(2, min(MOST_DRAWS - kernel, LEDGER_CALLS // self._calls))
        if not self._world.varies:
            kernel, more = 1, 0
        draws = [kernel_run(self._plan, self._attempts(n), n) for n in range(kernel)]
        first = ledger_run(self._plan, self._attempts(0), 0).seconds
        apart = abs(first - draws[0].seconds) / (draws[0].seconds or 1.0)
        further = range(kernel, kernel + more)
        draws += [ledger_run(self._plan, self._attempts(n), n) for n in further]
        return draws, kernel, apart

    def _attempts(self, seed: int) -> Attempts:
        return Attempts(self._world.profiles, seed, self._caches[seed])

    def _bound(self, constraint: Constraint) -> Bound:
        load: Load = load_on(constraint, self._models, self._now.totals)
        used = constraint.used(load, self._now.seconds)
        return Bound(constraint, used, constraint.least_s(load))

    def _what_ifs(self, bounds: Sequence[Bound]) -> tuple[list[WhatIf], list[Constraint]]:
        """Half and double of each, four times of those that double helps; and double of all.

        A budget is only raised: with half of it cells fail, and with enough of it the time may
        still be less, for the estimates that it reserves hold calls up.
        """
        room = max(3, WHAT_IF_CALLS // self._calls)
        ordered = sorted(bounds, key=lambda each: -each.used)
        near = [each for each in ordered if each.used >= NEAR or each.constraint.kind == "budget"]
        taken = [each.constraint for each in near[: max(1, (room - 2) // 2)]]
        found = [what_if for each in near[: len(taken)] for what_if in self._around(each)]
        if len(bounds) > 1:
            found.append(self._all_doubled([each.constraint for each in bounds]))
        return found, [each.constraint for each in ordered if each.constraint not in taken]

    def _around(self, bound: Bound) -> list[WhatIf]:
        constraint, is_budget = bound.constraint, bound.constraint.kind == "budget"
        half = None if is_budget else self._scaled(constraint, 0.5)
        double = self._scaled(constraint, 2.0) if is_budget or bound.used >= BUSY else None
        helped = double is not None and double.helps(self._now)
        more = self._scaled(constraint, 4.0) if helped else None
        return [each for each in (half, double, more) if each is not None]

    def _scaled(self, constraint: Constraint, factor: float) -> WhatIf | None:
        if constraint.at(factor) == constraint.most:
            return None  # half of 1
        spec = constraint.scaled(self._plan.compiled.spec, factor)
        return self._what_if(constraint.change(factor), spec, constraint)

    def _all_doubled(self, constraints: Sequence[Constraint]) -> WhatIf:
        spec = self._plan.compiled.spec
        for constraint in constraints:
            spec = constraint.scaled(spec, 2.0)
        return self._what_if("all of them doubled", spec, None)

    def _what_if(self, change: str, spec: MatrixSpec, constraint: Constraint | None) -> WhatIf:
        compiled = msgspec.structs.replace(self._plan.compiled, spec=spec)
        plan = msgspec.structs.replace(self._plan, compiled=compiled)
        seed = self._now.seed
        ran = ledger_run(plan, self._attempts(seed), seed)
        return WhatIf(change, ran.seconds, len(ran.failures), constraint)

    def _longest_cell(self) -> float:
        """The longest that one cell takes if it waits for nothing."""
        attempts, plan = self._attempts(self._now.seed), self._plan

        def seconds(demand: CellDemand, kind: str, number: int, timeout: float | None) -> float:
            item = (demand.scores if kind else demand.steps)[number]
            key = f"{demand.cell.key} {kind}{number}"
            return max(
                sum(
                    attempts.make(ask, f"{key} {chain} {place}", 1, timeout).seconds
                    for place, ask in enumerate(item.made)
                )
                for chain in range(item.wide)
            )

        def whole(demand: CellDemand) -> float:
            steps = [seconds(demand, "", n, plan.timeout) for n in range(len(demand.steps))]
            scores = [seconds(demand, "score ", n, None) for n in range(len(demand.scores))]
            return sum(steps) + max(scores, default=0.0)

        return max((whole(each) for each in plan.demands), default=0.0)


def _models(demands: Sequence[CellDemand]) -> list[Unconnected]:
    found = {ask.model.name: ask.model for each in demands for ask in each.asks}
    return list(found.values())
