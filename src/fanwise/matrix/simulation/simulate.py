"""The whole simulation of a file: draws, bounds, what binds, what if.

A "what if" is simulated on the calls of the draw that is told of, so that the two differ in the
caps alone. A limit that is used by less than a quarter is left as it is: half of it would do. Of a
large matrix a part of the cells is enough for the what ifs, every tenth for instance; its times
are scaled to the whole, and a note says so. How much is simulated depends on the file and on
nothing else: the same file, the same answer.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from fanwise.core.caps import Caps
from fanwise.matrix.cells.cell import in_dispatch_order
from fanwise.matrix.estimate.demand import CellDemand, DemandedItem, demand_of
from fanwise.matrix.simulation.constraints import Constraint, constraints_of, load_on
from fanwise.matrix.simulation.event_run import event_run
from fanwise.matrix.simulation.plan import (
    Chances,
    SimulationPlan,
    SimulationRun,
    asks_of,
    calls_of,
    less_budget,
)
from fanwise.matrix.simulation.world import World
from fanwise.matrix.spec.compile import Compiled, compile_
from fanwise.matrix.spec.matrix_spec import MatrixSpec
from fanwise.matrix.state.queue_limits import QueueLimits
from fanwise.models.ask import MODEL_RETRY, worth_a_retry
from fanwise.specs import Document, check
from fanwise.specs.system import Assumed

DRAW_CALLS = 60_000
"""Calls of all draws together; at least one draw."""
MOST_DRAWS = 10
PART_CALLS = 20_000
"""A what if has about so many calls, or as many as there are."""
ROUNDS = 50
"""And each place in the queues is used so often, at least."""
WHAT_IF_CALLS = 240_000
"""Calls of all what ifs together; those that matter most come first."""
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
        quicker = self.seconds < HELPS * now.seconds
        return self.failed < now.failed or (self.failed == now.failed and quicker)


class Bound(msgspec.Struct, frozen=True):
    """A constraint: how much of it is used, and the least time that it allows."""

    constraint: Constraint
    used: float
    least_s: float


class Simulated(msgspec.Struct, frozen=True):
    compiled: Compiled
    world: World
    draws: Sequence[SimulationRun]
    middle: SimulationRun
    """The one with the median time: bounds and what ifs are of this one."""
    bounds: Sequence[Bound]
    longest_cell_s: float
    what_ifs: Sequence[WhatIf]
    part: int
    """The what ifs are of every so-many-th cell."""
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
    with _collector_off():
        return _Simulator(*plan_of(document, key, assumed)).simulate()


def plan_of(document: Document, key: str, assumed: Assumed) -> tuple[SimulationPlan, World]:
    """What is to be simulated, and who answers how."""
    spec = check(document, MatrixSpec, key)
    where = document.at(key)
    compiled = compile_(spec, spec.inputs.load(where.at("inputs")), where, connected=False)
    ordered = msgspec.structs.replace(compiled, cells=in_dispatch_order(compiled.cells))
    demands = demand_of(ordered)
    world = World((ask.model for ask in asks_of(demands)), assumed)
    retry = MODEL_RETRY if spec.retry is None else spec.retry.retry(worth_a_retry)
    return SimulationPlan(ordered, demands, retry, MODEL_RETRY, spec.timeout), world


@contextmanager
def _collector_off() -> Iterator[None]:
    """Cells make no circles, and looking for some among a million is half of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Simulator:
    def __init__(self, plan: SimulationPlan, world: World) -> None:
        self._plan = plan
        self._world = world
        self._models = list({ask.model.name: ask.model for ask in asks_of(plan.demands)}.values())
        self._calls = max(1, sum(calls_of(plan.demands)))

    def simulate(self) -> Simulated:
        more = max(1, min(MOST_DRAWS, DRAW_CALLS // self._calls)) if self._world.varies else 1
        draws = [self._run(self._plan, Chances(self._plan, seed)) for seed in range(more)]
        self._now = sorted(draws, key=lambda each: each.seconds)[(len(draws) - 1) // 2]
        bounds = [self._bound(each) for each in constraints_of(self._plan.compiled, self._models)]
        self._take_part()
        what_ifs, left_out = self._what_ifs(bounds)
        return Simulated(
            self._plan.compiled, self._world, draws, self._now, bounds,
            0.0 if self._now.failed else self._longest_cell(), what_ifs, self._part, left_out,
        )  # fmt: skip

    def _run(self, plan: SimulationPlan, chances: Chances) -> SimulationRun:
        return event_run(plan, self._world.profiles, chances)

    def _take_part(self) -> None:
        """What the what ifs are simulated with, and how it did."""
        compiled = self._plan.compiled
        places = QueueLimits(compiled, Caps(compiled.spec.limits(alone=True)).ledger).total
        enough = max(PART_CALLS, ROUNDS * places)
        self._part = max(1, self._calls // enough)
        self._some = self._plan.one_in(self._part)
        self._chances = Chances(self._some, self._now.seed)
        whole = self._part == 1
        self._part_now = self._now if whole else self._run(self._some, self._chances)

    def _bound(self, constraint: Constraint) -> Bound:
        load = load_on(constraint, self._models, self._now.totals)
        used = constraint.used(load, self._now.seconds)
        return Bound(constraint, used, constraint.least_s(load))

    def _what_ifs(self, bounds: Sequence[Bound]) -> tuple[list[WhatIf], list[Constraint]]:
        """Half and double of each, four times of those that double helps; and double of all.

        A budget is only raised: with half of it cells fail, and with enough of it the time may
        still be less, for the estimates that it reserves hold calls up.
        """
        room = max(3, WHAT_IF_CALLS * self._part // self._calls)
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
        return self._what_if(constraint.change(factor), [constraint], factor, constraint)

    def _all_doubled(self, constraints: Sequence[Constraint]) -> WhatIf:
        return self._what_if("all of them doubled", constraints, 2.0, None)

    def _what_if(
        self,
        change: str,
        constraints: Sequence[Constraint],
        factor: float,
        about: Constraint | None,
    ) -> WhatIf:
        spec = self._plan.compiled.spec
        for constraint in constraints:
            spec = constraint.scaled(spec, factor)
        changed = msgspec.structs.replace(self._some.compiled, spec=less_budget(spec, self._part))
        plan = msgspec.structs.replace(self._some, compiled=changed)
        ran = self._run(plan, self._chances)
        before, now = self._part_now, self._now
        scale = now.seconds / before.seconds if before.seconds else 1.0
        failed = now.failed + self._part * (ran.failed - before.failed)
        return WhatIf(change, ran.seconds * scale, max(0, failed), about)

    def _longest_cell(self) -> float:
        """The longest that one cell takes if it waits for nothing."""
        plan, chances = self._plan, Chances(self._plan, self._now.seed)
        profiles = self._world.profiles

        def seconds(item: DemandedItem, call: int, timeout: float | None) -> float:
            longest = 0.0
            for _ in range(item.wide):
                took = 0.0
                for ask in item.made:
                    drawn = profiles[ask.model.name].draw(*chances.of(call, 1))[0]
                    took += drawn if timeout is None else min(drawn, timeout)
                    call += 1
                longest = max(longest, took)
            return longest

        def whole(demand: CellDemand, call: int) -> float:
            steps = scores = 0.0
            for item in demand.steps:
                steps += seconds(item, call, plan.timeout)
                call += item.calls
            for item in demand.scores:
                scores = max(scores, seconds(item, call, None))
                call += item.calls
            return steps + scores

        return max(map(whole, plan.demands, chances.starts), default=0.0)
