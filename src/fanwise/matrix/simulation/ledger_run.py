"""The matrix by the kernel's own ledger and budget, without the kernel: a fifth of the time.

Who goes next is decided by `core`, which is pure: a heap of events is all that it needs around it.
For the many simulations of a "what if" that is enough; 6,000 calls take a fifth of a second on a
quiet machine. That it gives the times of the whole kernel is tested: the same, or within 5 % where
providers share a cap, for who asks first at one moment is not the same. Each simulation tells how
far the two were apart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from random import Random

from fanwise.core.budget import Budget, Reservation
from fanwise.core.caps import Caps
from fanwise.core.ledger import Ledger
from fanwise.core.outcome import Usage
from fanwise.core.ready_queue import QueueLimit
from fanwise.core.retry import Retry
from fanwise.core.tickets import ResolvedNeeds, Ticket
from fanwise.errors import FanwiseError, one_line
from fanwise.matrix.cells.cell import Cell
from fanwise.matrix.estimate.demand import Ask, CellDemand, DemandedItem
from fanwise.matrix.simulation.attempts import Attempts, Drawn, error_of
from fanwise.matrix.simulation.result import SimulationPlan, SimulationRun
from fanwise.matrix.state.queue_limits import QueueLimits
from fanwise.models.ask import ALL
from fanwise.models.unconnected import Unconnected


def ledger_run(plan: SimulationPlan, attempts: Attempts, seed: int) -> SimulationRun:
    """All cells; how long it took, in virtual seconds."""
    return _Simulation(plan, attempts, seed).run()


class _Simulation:
    def __init__(self, plan: SimulationPlan, attempts: Attempts, seed: int) -> None:
        self.plan = plan
        self.attempts = attempts
        self.seed = seed
        self.chance = Random(seed)
        self.ledger = Caps(plan.compiled.spec.limits()).ledger
        self.budget: Budget | None = plan.compiled.spec.make_budget()
        self.now = 0.0
        self.last = 0.0
        """When the last of the calls ended: a rate may wake us later, for nobody."""
        self.failures: list[str] = []
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()
        self._needs: dict[str, ResolvedNeeds] = {}
        self._limits = QueueLimits(plan.compiled, self.ledger)
        self._queues: dict[QueueLimit, _Queue] = {}
        self._wake_at: float | None = None
        self.soon: deque[Callable[[], None]] = deque()
        """By a queue: thousands that end at once would go deeper than Python's stack does."""
        self.changed = False
        """Permits came back, or somebody stands in line: the ledger has to be asked who goes."""

    def run(self) -> SimulationRun:
        for demand in self.plan.demands:
            self.queue(demand.cell).cells.append(_Cell(self, demand))
        for queue in dict.fromkeys(self.queue(each.cell) for each in self.plan.demands):
            queue.let_in()
        self._settle_down()
        while self._events:
            self.now, _, happen = heappop(self._events)
            happen()
            self._settle_down()
        return SimulationRun(self.seed, self.last, self.attempts.totals, self.failures)

    def at(self, when: float, happen: Callable[[], None]) -> None:
        heappush(self._events, (when, next(self._number), happen))

    def queue(self, cell: Cell) -> _Queue:
        return self._queue(self._limits.of_cell(cell))

    def judges(self, item: DemandedItem) -> _Queue:
        return self._queue(self._limits.of_judge(item.chain[0].model))

    def _queue(self, limit: QueueLimit) -> _Queue:
        if limit not in self._queues:
            self._queues[limit] = _Queue(limit.most)
        return self._queues[limit]

    def needs(self, model: Unconnected) -> ResolvedNeeds:
        found = self._needs.get(model.name)
        if found is None:
            key = [] if model.key is None else [f"key:{model.key}"]
            wanted = dict.fromkeys([ALL, model.provider, *key, model.name])
            declared = {name: 1 for name in wanted if name in self.ledger.resources}
            found = self._needs[model.name] = self.ledger.resolve(declared)
        return found

    def _settle_down(self) -> None:
        """All that follows at this moment."""
        while self.soon or self.changed:
            while self.soon:
                self.soon.popleft()()
            if self.changed:
                self.changed = False
                self.pump()

    def pump(self) -> None:
        for ticket in self.ledger.grants(self.now):
            assert isinstance(ticket, _ChainTicket)
            ticket.chain.granted(ticket)
        wake = self.ledger.wake_at(self.now)
        if wake is not None and wake != self._wake_at:
            self._wake_at = wake
            self.at(wake, self._woken)

    def _woken(self) -> None:
        self._wake_at = None
        self.changed = True


class _Queue:
    """The items of one provider: so many at once, some more in line, the other cells outside."""

    def __init__(self, most: int) -> None:
        self.free = most
        self.waiting: deque[Callable[[_Queue], None]] = deque()
        self.cells: deque[_Cell] = deque()
        self._inside = most

    def let_in(self, left: int = 0) -> None:
        """As many cells as the driver gives to the fan-out, once some of them have `left`."""
        self._inside += left
        while self.cells and self._inside:
            self._inside -= 1
            self.cells.popleft().step(0)
        self.fill()

    def fill(self) -> None:
        while self.free and self.waiting:
            self.free -= 1
            self.waiting.popleft()(self)

    def leave(self) -> None:
        self.free += 1
        self.fill()


class _Cell:
    def __init__(self, simulation: _Simulation, demand: CellDemand) -> None:
        self._simulation = simulation
        self._demand = demand

    def step(self, number: int) -> None:
        """Into the line of its queue."""
        demand, plan = self._demand, self._simulation.plan
        item = demand.steps[number]
        key = f"{demand.cell.key} {number}"

        def over(error: str | None) -> None:
            queue = self._simulation.queue(demand.cell)
            if error is not None:
                self._simulation.failures.append(error)
            elif number + 1 < len(demand.steps):
                self.step(number + 1)
                queue.fill()
                return
            else:
                self._scores()
            queue.let_in(left=1)

        queue = self._simulation.queue(demand.cell)
        self._enter(queue, item, key, plan.retry, plan.timeout, over)

    def _scores(self) -> None:
        demand, simulation = self._demand, self._simulation

        def over(error: str | None) -> None:
            if error is not None:
                simulation.failures.append(error)

        for number, item in enumerate(demand.scores):
            key = f"{demand.cell.key} score {number}"
            queue = simulation.judges(item)
            self._enter(queue, item, key, simulation.plan.judge_retry, None, over)
            queue.fill()

    def _enter(
        self,
        into: _Queue,
        item: DemandedItem,
        key: str,
        retry: Retry,
        timeout: float | None,
        over: Callable[[str | None], None],
    ) -> None:
        simulation = self._simulation

        def begin(queue: _Queue) -> None:
            left = [item.wide]
            errors: list[str] = []

            def ended(error: str | None) -> None:
                left[0] -= 1
                if error is not None:
                    errors.append(error)
                if left[0] == 0:
                    over(errors[0] if len(errors) == item.wide else None)
                    queue.leave()

            for number in range(item.wide):
                chain = _Chain(simulation, item.made, f"{key} {number}", retry, timeout, ended)
                chain.go_on()

        into.waiting.append(begin)


class _Chain:
    """Some calls one after another: what `call` of the kernel does, as a state machine."""

    def __init__(
        self,
        simulation: _Simulation,
        asks: Sequence[Ask],
        key: str,
        retry: Retry,
        timeout: float | None,
        ended: Callable[[str | None], None],
    ) -> None:
        self._simulation = simulation
        self._asks = asks
        self._key = key
        self._retry = retry
        self._timeout = timeout
        self._ended = ended
        self._number = -1
        self._made = 0
        self._reservation: Reservation | None = None
        """Of the attempt that is next or under way."""

    def go_on(self) -> None:
        self._number += 1
        self._made = 0
        if self._number == len(self._asks):
            self._end(None)
        else:
            self._attempt()

    @property
    def _ask(self) -> Ask:
        return self._asks[self._number]

    def _attempt(self) -> None:
        budget = self._simulation.budget
        if budget is not None:
            self._reservation = budget.reservation(self._ask.estimate, self)
        self._permits()

    def _permits(self) -> None:
        simulation, ledger = self._simulation, self._simulation.ledger
        needs = simulation.needs(self._ask.model)
        ticket = _ChainTicket(self, ledger, needs, self._ask.estimate.tokens)
        if ledger.request(ticket, simulation.now):
            self.granted(ticket)
        else:
            simulation.changed = True

    def granted(self, ticket: Ticket) -> None:
        simulation = self._simulation
        if self._reservation is not None and not self._reserved(ticket, self._reservation):
            return
        self._made += 1
        place = f"{self._key} {self._number}"
        drawn = simulation.attempts.make(self._ask, place, self._made, self._timeout)
        simulation.at(simulation.now + drawn.seconds, lambda: self._over(ticket, drawn))

    def _reserved(self, ticket: Ticket, reservation: Reservation) -> bool:
        simulation, budget = self._simulation, self._simulation.budget
        assert budget is not None
        try:
            if budget.reserve(reservation):
                return True
        except FanwiseError as error:
            self._end(one_line(error))
        simulation.ledger.hand_back(ticket, simulation.now)
        simulation.changed = True
        return False

    def _over(self, ticket: Ticket, drawn: Drawn) -> None:
        simulation, ledger = self._simulation, self._simulation.ledger
        if drawn.problem is None:
            ledger.accepted(ticket, simulation.now)
        elif drawn.problem == "refused":
            ledger.refused(ticket, None, simulation.now)
        if drawn.usage is not None:
            ledger.settle(ticket, drawn.usage.tokens, simulation.now)
        ledger.release(ticket, drawn.seconds)
        simulation.pump()  # who waits goes first, and then what this chain asks next
        self._settle(drawn.usage or self._ask.estimate)
        error = error_of(drawn, self._ask.model)
        if error is None:
            self.go_on()
        elif self._retry.wants(error, self._made):
            pause = self._retry.delay(error, self._made, simulation.chance.random())
            simulation.at(simulation.now + pause, self._attempt)
        else:
            self._end(one_line(error))

    def _end(self, error: str | None) -> None:
        self._simulation.last = self._simulation.now
        self._simulation.soon.append(lambda: self._ended(error))

    def _settle(self, spent: Usage) -> None:
        budget, reservation = self._simulation.budget, self._reservation
        if budget is None or reservation is None:
            return
        for other in budget.settle(reservation, spent):
            assert isinstance(other.tag, _Chain)
            other.tag._permits()


class _ChainTicket(Ticket):
    """The permits of a chain's next attempt."""

    def __init__(self, chain: _Chain, ledger: Ledger, needs: ResolvedNeeds, tokens: float) -> None:
        super().__init__(ledger.calls, needs, ledger.next_order(), tokens)
        self.chain = chain
