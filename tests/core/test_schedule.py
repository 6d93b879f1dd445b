"""The pure schedule over random worlds: no event loop, no clock."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given

from fanwise.core.caps import Caps
from fanwise.core.halt import Halt
from fanwise.core.outcome import Outcome
from fanwise.core.schedule import Schedule
from fanwise.core.tickets import Ticket
from tests.profiles import examples
from tests.worlds import Planned, World, sequential, worlds


def a_ticket(schedule: Schedule[Ticket], index: int) -> Ticket:
    return Ticket(schedule.group, schedule.only_total, index)


@dataclass
class Driver:
    """Performs what a schedule decides, on a heap of future events."""

    world: World
    caps: Caps = field(init=False)
    schedule: Schedule[Ticket] = field(init=False)
    items: dict[int, Ticket] = field(default_factory=dict)
    now: float = 0.0
    pulled: int = 0
    outcomes: dict[int, Outcome[Any]] = field(default_factory=dict)
    attempts: dict[int, int] = field(default_factory=dict)
    running: dict[int, int] = field(default_factory=dict)
    started_after_halt: list[int] = field(default_factory=list)
    heap: list[tuple[float, int, int, str, int]] = field(default_factory=list)
    serial: int = 0

    def __post_init__(self) -> None:
        self.caps = Caps(self.world.caps)
        self.schedule = Schedule(self.caps.ledger, self.world.cap, self.world.rule, now=0.0)

    def run(self) -> None:
        self.pull()
        while self.heap:
            self.now, _, _, kind, index = heapq.heappop(self.heap)
            if kind == "finish" and self.running.get(index) == self.attempts[index]:
                self.finish(index)
            elif kind == "again" and index not in self.outcomes:
                self.try_again(index)
            self.grants()
            self.pull()
            self.check()
        assert self.schedule.over, "it ended with items open: a deadlock"

    def try_again(self, index: int) -> None:
        if self.schedule.again(self.items[index], self.now):
            self.start(index)

    def pull(self) -> None:
        while self.schedule.wants_items(ahead=bool(self.pulled % 2)):
            if self.pulled == len(self.world.items):
                self.schedule.exhausted = True
                return
            index = self.pulled
            self.pulled += 1
            item = self.items[index] = a_ticket(self.schedule, index)
            if self.schedule.add(item, self.world.items[index].needs, self.now):
                self.start(index)

    def grants(self) -> None:
        for ticket in self.schedule.ledger.grants(self.now):
            self.start(ticket.order)

    def start(self, index: int) -> None:
        if self.schedule.halted_by is not None and index > self.schedule.halted_by:
            self.started_after_halt.append(index)
        assert index not in self.running
        assert index not in self.outcomes, "an ended item was started again"
        self.attempts[index] = self.attempts.get(index, 0) + 1
        self.running[index] = self.attempts[index]
        self.later(self.world.items[index].duration, "finish", index)

    def later(self, delay: float, kind: str, index: int) -> None:
        self.serial += 1
        # Larger indices first at equal times: the order that is worst for order.
        heapq.heappush(self.heap, (self.now + delay, -index, self.serial, kind, index))

    def finish(self, index: int) -> None:
        item = self.world.items[index]
        del self.running[index]
        if self.attempts[index] <= item.bad_attempts:
            self.schedule.pause(self.items[index], item.duration)
            self.later(item.backoff, "again", index)
            return
        status = "failed" if item.fails else "done"
        outcome: Outcome[Any] = Outcome(index, status, item.value if item.ok else None)  # type: ignore[arg-type]
        self.schedule.worked(self.items[index], item.duration)
        self.end(outcome)

    def end(self, outcome: Outcome[Any]) -> None:
        assert outcome.index not in self.outcomes, "an item ended twice"
        self.outcomes[outcome.index] = outcome
        decision = self.schedule.ended(outcome)
        for item in decision.skip:
            self.outcomes[item.order] = Outcome(item.order, "skipped")
        for item in decision.cancel:
            if self.running.pop(item.order, None) is not None:
                self.schedule.worked(item, 0.0)
            self.end(Outcome(item.order, "cancelled"))

    def check(self) -> None:
        """Promises 1 and 2, at every instant."""
        in_use = dict.fromkeys(self.world.caps, 0)
        for index in self.running:
            for name, units in self.world.items[index].needs.items():
                in_use[name] += units
        assert len(self.running) <= self.world.cap
        assert all(in_use[name] <= cap for name, cap in self.world.caps.items())
        assert in_use == self.caps.in_use
        room = len(self.running) < self.world.cap and not self.schedule.halted
        assert not room or self.pulled == len(self.world.items), "an item that nobody looked at"
        for index in range(self.pulled):
            if self.schedule.state(index) == "waiting":
                assert not self.could_run(self.world.items[index], in_use), f"{index} idles"

    def could_run(self, item: Planned, in_use: dict[str, int]) -> bool:
        room = all(in_use[n] + units <= self.world.caps[n] for n, units in item.needs.items())
        return room and len(self.running) < self.world.cap


@examples(4)
@given(worlds())
def test_any_schedule_keeps_its_caps_wastes_no_permit_and_equals_the_sequential_run(
    world: World,
) -> None:
    driver = Driver(world)
    driver.run()
    by = driver.schedule.halted_by
    last = len(world.items) if by is None else by + 1
    got = [driver.outcomes[index] for index in range(last)]
    assert [(o.index, o.status, o.value) for o in got] == sequential(world)
    assert not driver.started_after_halt
    assert set(driver.outcomes) == set(range(driver.pulled)), "an item did not end"
    assert all(use == 0 for use in driver.caps.in_use.values()), "permits were not returned"
    assert driver.schedule.in_flight == 0


@examples(2)
@given(worlds())
def test_with_fastest_the_winner_is_the_first_success_to_finish_and_nothing_starts_after_it(
    world: World,
) -> None:
    driver = Driver(world)
    driver.schedule.halt = Halt.on_success(fastest=True)
    driver.schedule.group.prefer = "order"
    driver.run()
    winners = [o.index for o in driver.outcomes.values() if o.status == "done"]
    assert winners == ([driver.schedule.halted_by] if winners else [])
    assert all(use == 0 for use in driver.caps.in_use.values())


@examples(2)
@given(worlds())
def test_an_order_to_stop_starts_nothing_more_and_lets_the_running_end(world: World) -> None:
    driver = Driver(replace(world, halt="never"))
    driver.pull()
    before = set(driver.running)
    decision = driver.schedule.halt_now()
    for item in decision.skip:
        driver.outcomes[item.order] = Outcome(item.order, "skipped")
    assert decision.cancel == ()
    while driver.heap:
        driver.now, _, _, kind, index = heapq.heappop(driver.heap)
        if kind == "finish":
            del driver.running[index]
            driver.schedule.worked(driver.items[index], 1.0)
            driver.end(Outcome(index, "done"))
        assert driver.schedule.ledger.grants(driver.now) == []
        assert not driver.schedule.wants_items()
    done = {o.index for o in driver.outcomes.values() if o.status == "done"}
    assert done == before
    assert driver.schedule.over


def test_the_cost_of_a_decision_does_not_grow_with_the_number_of_waiting_items() -> None:
    """Counted in lines looked at, not in seconds: with 100x the items the same per decision."""

    def looks(n: int) -> float:
        caps = Caps(a=1, b=1)
        schedule: Schedule[Ticket] = Schedule(caps.ledger, 100, Halt.never(), now=0.0)
        for index in range(n):
            schedule.add(a_ticket(schedule, index), {"ab"[index % 2]: 1}, 0.0)
        counted = 0
        fits = caps.ledger._fits

        def counting(ticket: Ticket, now: float) -> bool:
            nonlocal counted
            counted += 1
            return fits(ticket, now)

        caps.ledger._fits = counting  # type: ignore[method-assign]
        done = 0
        todo = [0, 1]
        while todo:
            index = todo.pop()
            schedule.worked(schedule.open[index], 1.0)
            schedule.ended(Outcome(index, "done"))
            done += 1
            todo += [ticket.order for ticket in caps.ledger.grants(0.0)]
        assert done == n
        return counted / n

    assert looks(5_000) <= looks(50) * 1.5
