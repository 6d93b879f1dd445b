"""One simulation: all calls of a matrix pass in virtual time, event by event.

Who goes next is decided by the same code as in a run: the ledger with its caps and rates, and the
budget, which are pure. Around them stands a heap of events instead of an event loop, because a
million calls have to pass in seconds. That the times are those of the whole kernel is tested: equal
where every provider has caps of its own, within 5 % where providers share one (who asks first at
one moment may differ). An earlier version also simulated with the kernel itself; it took twenty
times as long and said nothing more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from heapq import heappop, heappush
from random import Random
from typing import Literal

from fanwise.core.budget import Budget, Reservation
from fanwise.core.caps import Caps
from fanwise.core.outcome import Usage
from fanwise.core.ready_queue import QueueLimit
from fanwise.core.tickets import ResolvedNeeds, Ticket
from fanwise.errors import (
    AttemptTimeout,
    FanwiseError,
    ModelError,
    ModelOverloaded,
    ModelRateLimited,
    one_line,
)
from fanwise.matrix.estimate.demand import Ask, DemandedItem
from fanwise.matrix.simulation.plan import (
    Chances,
    SimulatedTotals,
    SimulationPlan,
    SimulationRun,
    asks_of,
)
from fanwise.matrix.simulation.profiles import ModelProfile
from fanwise.matrix.state.queue_limits import QueueLimits
from fanwise.models.port import Tokens, cap_names
from fanwise.models.unconnected import Unconnected

NOTHING = Usage(1, 0, 0.0)
"""What an attempt costs that was refused or failed."""
AttemptProblem = Literal["refused", "failed", "too slow"]


def event_run(
    plan: SimulationPlan, profiles: Mapping[str, ModelProfile], chances: Chances
) -> SimulationRun:
    return _EventRun(plan, profiles, chances).run()


class _SimulatedModel:
    """What is the same for all calls of a model."""

    __slots__ = ("needs", "profile", "totals")

    def __init__(self, profile: ModelProfile, needs: ResolvedNeeds) -> None:
        self.profile = profile
        self.needs = needs
        self.totals = SimulatedTotals()


class _Queue:
    """The items that share a limit of the driver; see `queue_limits.py`."""

    __slots__ = ("again", "cells", "room")

    def __init__(self, room: int) -> None:
        self.room = room
        self.again: deque[_Item] = deque()
        """Items of cells that have begun: they go first."""
        self.cells: deque[int] = deque()


class _Item:
    """A step of a cell, or a score: some chains at once."""

    __slots__ = ("cell", "chains", "demanded", "failed", "number", "queue", "start")

    def __init__(
        self, cell: int, number: int, demanded: DemandedItem, queue: _Queue, start: int
    ) -> None:
        self.cell = cell
        self.number = number
        """Of the step; -1: a score."""
        self.demanded = demanded
        self.queue = queue
        self.start = start
        """The number of its first call."""
        self.chains = demanded.wide
        """Of those, the ones that have not ended."""
        self.failed = 0


class _Chain(Ticket):
    """Calls one after another: what `ask` of the kernel does, as a state machine."""

    __slots__ = (
        "asks",
        "call",
        "item",
        "last",
        "made",
        "problem",
        "reservation",
        "seconds",
        "spent",
    )

    def __init__(self, run: _EventRun, item: _Item, number: int) -> None:
        super().__init__(run.ledger.calls, (), 0)
        self.item = item
        self.asks = item.demanded.made
        self.call = item.start + number * len(self.asks)
        self.last = self.call + len(self.asks)
        self.made = 0
        self.reservation: Reservation | None = None
        self.seconds = 0.0
        self.problem: AttemptProblem | None = None
        self.spent: Usage | None = None


class _EventRun:
    def __init__(
        self, plan: SimulationPlan, profiles: Mapping[str, ModelProfile], chances: Chances
    ) -> None:
        self._plan = plan
        self._chances = chances
        self._backoff = Random(chances.seed)
        self.ledger = Caps(plan.compiled.spec.limits(alone=True)).ledger
        self._counts_tokens = any(
            bucket.counts_tokens
            for each in self.ledger.resources.values()
            for bucket in each.buckets
        )
        self._adapts = self.ledger.adapts
        self._budget: Budget | None = plan.compiled.spec.make_budget()
        self._models = {
            model.name: _SimulatedModel(profiles[model.name], self._needs(model))
            for model in {ask.model.name: ask.model for ask in asks_of(plan.demands)}.values()
        }
        self._now = 0.0
        self._last = 0.0
        """When the last of the calls ended: a rate may wake us later, for nobody."""
        self._failed = 0
        self._first_failure: str | None = None
        self._events: list[tuple[float, int, _Chain | None]] = []
        self._event = 0
        self._wake_at: float | None = None
        self._over: deque[tuple[_Chain, str | None]] = deque()
        """Chains that have ended: by a queue, because thousands may end at one moment."""
        self._changed = False
        """Somebody stands in line, or permits came back unused: who goes has to be asked again."""
        self._limits = QueueLimits(plan.compiled, self.ledger)
        self._queues: dict[QueueLimit, _Queue] = {}

    def run(self) -> SimulationRun:
        for number, cell in enumerate(self._plan.compiled.cells):
            self._queue(self._limits.of_cell(cell)).cells.append(number)
        for queue in list(self._queues.values()):
            self._fill(queue)
        self._settle_down()
        events = self._events
        while events:
            self._now, _, chain = heappop(events)
            if chain is None:
                self._wake_at = None
                self._pump()
            elif chain.state == "held":
                self._attempt_over(chain)
            else:
                self._attempt(chain)  # it has backed off
            self._settle_down()
        totals = {name: each.totals for name, each in self._models.items()}
        return SimulationRun(
            self._chances.seed, self._last, totals, self._failed, self._first_failure
        )

    # -- items -------------------------------------------------------------------------------------

    def _queue(self, limit: QueueLimit) -> _Queue:
        found = self._queues.get(limit)
        if found is None:
            found = self._queues[limit] = _Queue(limit.most)
        return found

    def _fill(self, queue: _Queue) -> None:
        """Start as many items as there is room for."""
        while queue.room:
            if queue.again:
                item = queue.again.popleft()
            elif queue.cells:
                cell = queue.cells.popleft()
                first = self._plan.demands[cell].steps[0]
                item = _Item(cell, 0, first, queue, self._chances.starts[cell])
            else:
                return
            queue.room -= 1
            for number in range(item.chains):
                self._go_on(_Chain(self, item, number))

    def _settle_down(self) -> None:
        """All that follows at this moment."""
        while self._over or self._changed:
            while self._over:
                self._chain_over(*self._over.popleft())
            if self._changed:
                self._pump()

    def _chain_over(self, chain: _Chain, error: str | None) -> None:
        item = chain.item
        item.chains -= 1
        if error is not None:
            item.failed += 1
        if item.chains:
            return
        if item.failed == item.demanded.wide:  # as in sampling: one chain that lives is enough
            self._failed += 1
            self._first_failure = self._first_failure or error
        elif item.number >= 0:
            self._follow(item)
        item.queue.room += 1
        self._fill(item.queue)

    def _follow(self, item: _Item) -> None:
        """The next step of its cell, or the scores."""
        demand, start = self._plan.demands[item.cell], item.start + item.demanded.calls
        if item.number + 1 < len(demand.steps):
            number = item.number + 1
            item.queue.again.append(
                _Item(item.cell, number, demand.steps[number], item.queue, start)
            )
            return
        for score in demand.scores:
            queue = self._queue(self._limits.of_judge(score.chain[0].model))
            queue.again.append(_Item(item.cell, -1, score, queue, start))
            start += score.calls
            self._fill(queue)

    # -- calls -------------------------------------------------------------------------------------

    def _needs(self, model: Unconnected) -> ResolvedNeeds:
        resources = self.ledger.resources
        return self.ledger.resolve({name: 1 for name in cap_names(model) if name in resources})

    def _ask(self, chain: _Chain) -> Ask:
        return chain.asks[chain.call - chain.last]  # from the end

    def _go_on(self, chain: _Chain) -> None:
        chain.made = 0
        if chain.call == chain.last:
            self._end(chain, None)
        else:
            self._attempt(chain)

    def _attempt(self, chain: _Chain) -> None:
        ask = self._ask(chain)
        chain.needs = self._models[ask.model.name].needs
        if self._counts_tokens:
            chain.tokens = ask.estimate.tokens
        if self._budget is not None:
            chain.reservation = self._budget.reservation(ask.estimate, chain)
        self._request(chain)

    def _request(self, chain: _Chain) -> None:
        chain.order = self.ledger.next_order()
        if self.ledger.request(chain, self._now):
            self._granted(chain)
        else:
            self._changed = True

    def _pump(self) -> None:
        ledger = self.ledger
        self._changed = False
        if not ledger.may_grant:
            return
        for ticket in ledger.grants(self._now):
            assert isinstance(ticket, _Chain)
            self._granted(ticket)
        wake = ledger.wake_at(self._now) if ledger.timed else None
        if wake is not None and wake != self._wake_at:
            self._wake_at = wake
            self._at(wake, None)

    def _at(self, when: float, chain: _Chain | None) -> None:
        self._event += 1
        heappush(self._events, (when, self._event, chain))

    def _granted(self, chain: _Chain) -> None:
        if chain.reservation is not None and not self._reserved(chain, chain.reservation):
            return
        chain.made += 1
        self._draw(chain)
        self._at(self._now + chain.seconds, chain)

    def _reserved(self, chain: _Chain, reservation: Reservation) -> bool:
        assert self._budget is not None
        try:
            if self._budget.reserve(reservation):
                return True
        except FanwiseError as error:
            chain.reservation = None
            self._end(chain, one_line(error))
        self.ledger.hand_back(chain, self._now)
        self._changed = True
        return False

    def _draw(self, chain: _Chain) -> None:
        """How long the attempt takes, how it ends, and what it costs."""
        ask = self._ask(chain)
        model = self._models[ask.model.name]
        drawn = model.profile.draw(*self._chances.of(chain.call, chain.made))
        chain.seconds, output, chain.problem = drawn
        chain.spent = NOTHING
        timeout = self._plan.timeout if chain.item.number >= 0 else None
        total = model.totals
        total.attempts += 1
        if timeout is not None and chain.seconds > timeout:
            chain.seconds, chain.problem, chain.spent = timeout, "too slow", None
            total.unpriced += 1
        elif chain.problem is None:
            tokens, chain.spent = ask.tokens, ask.spent
            if output is not None:
                tokens = Tokens(tokens.input, output)
                chain.spent = Usage(1, tokens.total or 0, dollars(ask.model, tokens))
            total.input_tokens += tokens.input or 0
            total.output_tokens += tokens.output or 0
            if chain.spent.usd is None:
                total.unpriced += 1
            else:
                total.usd += chain.spent.usd
        total.seconds += chain.seconds

    def _attempt_over(self, chain: _Chain) -> None:
        ledger, now = self.ledger, self._now
        if self._adapts:
            if chain.problem is None:
                ledger.accepted(chain, now)
            elif chain.problem == "refused":
                ledger.refused(chain, None, now)
        if self._counts_tokens and chain.spent is not None:
            ledger.settle(chain, chain.spent.tokens, now)
        ledger.release(chain, chain.seconds)
        self._pump()  # who waits goes first, and then what this chain asks next
        if self._budget is not None and chain.reservation is not None:
            spent = chain.spent or self._ask(chain).estimate
            reservation, chain.reservation = chain.reservation, None  # the collector is off
            for other in self._budget.settle(reservation, spent):
                assert isinstance(other.tag, _Chain)
                self._request(other.tag)
        if chain.problem is None:
            chain.call += 1
            self._go_on(chain)
        else:
            self._failed_attempt(chain)

    def _failed_attempt(self, chain: _Chain) -> None:
        error = _error_of(chain, self._ask(chain).model)
        retry = self._plan.retry if chain.item.number >= 0 else self._plan.judge_retry
        if retry.wants(error, chain.made):
            pause = retry.delay(error, chain.made, self._backoff.random())
            self._at(self._now + pause, chain)
        else:
            self._end(chain, one_line(error))

    def _end(self, chain: _Chain, error: str | None) -> None:
        self._last = self._now
        self._over.append((chain, error))


@lru_cache(maxsize=100_000)
def dollars(model: Unconnected, tokens: Tokens) -> float | None:
    """Looked up once for the same tokens: the price list is slow."""
    return model.dollars(tokens)


def _error_of(chain: _Chain, model: Unconnected) -> Exception:
    if chain.problem == "too slow":
        return AttemptTimeout(chain.seconds)
    kind: type[ModelError] = ModelRateLimited if chain.problem == "refused" else ModelOverloaded
    return kind(
        f"{model.name}: simulated", provider=model.provider, model=model.name,
        input_tokens=0, output_tokens=0, usd=0.0,
    )  # fmt: skip
