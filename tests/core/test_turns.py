"""An exclusive cap: those who need all of it and those who need a part take turns."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise import Caps, Exclusive, Rate
from fanwise.core.tickets import Group, Ticket
from fanwise.core.turns import TURN
from fanwise.errors import UsageError
from tests.profiles import examples

CPU = 3


@dataclass(frozen=True)
class Wish:
    """Somebody who comes at a time, needs permits, and keeps them for a while."""

    at: int
    needs: dict[str, int]
    takes: int
    patience: int | None = None
    group: int = 0

    @property
    def side(self) -> str:
        return {0: "neither", CPU: "whole"}.get(self.needs.get("cpu", 0), "part")


@dataclass
class Ledgered:
    """Performs what the ledger decides, and writes down who overtook whom."""

    wishes: list[Wish]
    caps: Caps
    now: int = 0
    running: dict[int, Ticket] = field(default_factory=dict)
    waiting: dict[int, Ticket] = field(default_factory=dict)
    overtaken: dict[int, list[int]] = field(default_factory=dict)
    left: set[int] = field(default_factory=set)
    order: list[int] = field(default_factory=list)

    def run(self) -> None:
        groups = [Group("order"), Group("longest")]
        heap = [(wish.at, 1, n) for n, wish in enumerate(self.wishes)]
        heapq.heapify(heap)
        while heap:
            self.now, kind, n = heapq.heappop(heap)
            wish = self.wishes[n]
            if kind == 1:
                needs = self.caps.ledger.resolve(wish.needs)
                ticket = Ticket(groups[wish.group], needs, n)
                if self.caps.ledger.request(ticket, self.now):
                    self.start(n, ticket, heap)
                else:
                    self.waiting[n] = ticket
                    self.overtaken[n] = []
                    if wish.patience is not None:
                        heapq.heappush(heap, (self.now + wish.patience, 2, n))
            elif kind == 0:
                self.caps.ledger.release(self.running.pop(n), wish.takes)
            elif n in self.waiting:
                self.caps.ledger.withdraw(self.waiting.pop(n))
                self.left.add(n)
            for ticket in self.caps.ledger.grants(self.now):
                self.start(ticket.order, ticket, heap)
            self.check()
        assert not self.waiting, "somebody waits for ever"

    def start(self, n: int, ticket: Ticket, heap: list[tuple[int, int, int]]) -> None:
        self.waiting.pop(n, None)
        self.order.append(n)
        for other in self.waiting:
            self.overtaken[other].append(n)
        self.running[n] = ticket
        heapq.heappush(heap, (self.now + self.wishes[n].takes, 0, n))

    def check(self) -> None:
        sides = [self.wishes[n].side for n in self.running]
        assert sum(self.wishes[n].needs.get("cpu", 0) for n in self.running) <= CPU
        assert "whole" not in sides or sides.count("whole") + sides.count("part") == 1
        for n in self.waiting:
            if self.room(self.wishes[n].needs):
                assert self.waits_for_a_turn(n), f"{n} could go, and nobody is before it"

    def waits_for_a_turn(self, n: int) -> bool:
        """The only excuse for an idle permit: it is kept for one that needs the whole."""
        if self.wishes[n].side != "part":
            return False
        wholes = (m for m in self.waiting if self.wishes[m].side == "whole")
        return any(self.room({**self.wishes[m].needs, "cpu": 0}) for m in wholes)

    def room(self, needs: dict[str, int]) -> bool:
        in_use, most = self.caps.in_use, self.caps.current
        return all(in_use[name] + units <= (most[name] or 0) for name, units in needs.items())


def wishes(names: list[str], *, patience: bool) -> st.SearchStrategy[list[Wish]]:
    cpu = st.sampled_from([{"cpu": 1}, {"cpu": 1}, {"cpu": 2}, {"cpu": CPU}, {}])
    other = st.sampled_from([{}, *({name: 1} for name in names)])
    return st.lists(
        st.builds(
            Wish,
            at=st.integers(0, 30),
            needs=st.builds(lambda a, b: {**a, **b}, cpu, other).filter(bool),
            takes=st.integers(0, 6),
            patience=st.none() | st.integers(0, 6) if patience else st.none(),
            group=st.integers(0, 1),
        ),
        min_size=1,
        max_size=60,
    )


@examples(2)
@given(wishes(["slots"], patience=True))
def test_whoever_comes_in_whatever_order_goes_and_a_whole_one_is_alone(plan: list[Wish]) -> None:
    """Some need another cap too, some lose patience; permits idle only for a whole one."""
    Ledgered(plan, Caps(cpu=Exclusive(CPU), slots=2)).run()


@examples(2)
@given(wishes([], patience=False))
def test_each_side_is_overtaken_by_a_bounded_number_of_the_other(plan: list[Wish]) -> None:
    world = Ledgered(plan, Caps(cpu=Exclusive(CPU)))
    world.run()
    for n, overtakers in world.overtaken.items():
        sides = [world.wishes[other].side for other in overtakers]
        parts = sum(plan[other].needs.get("cpu", 0) for other in overtakers) - (
            CPU * sides.count("whole")
        )
        if plan[n].side == "whole":
            before = sides.count("whole") + 1  # each of those had a turn of the parts before it
            assert parts < before * TURN * CPU + CPU
        if plan[n].side == "part":
            turns = parts // (TURN * CPU) + 1
            assert sides.count("whole") <= turns + 1


def served(caps: Caps, comes: list[dict[str, int]], ends: int) -> list[int]:
    """All come at once, the first of them goes; then one after the other ends, in that order."""
    tickets = [
        Ticket(caps.ledger.calls, caps.ledger.resolve(needs), n) for n, needs in enumerate(comes)
    ]
    running = [t for t in tickets if caps.ledger.request(t, 0.0)]
    order = [t.order for t in running]
    for _ in range(ends):
        caps.ledger.release(running.pop(0), 1.0)
        granted = caps.ledger.grants(0.0)
        running += granted
        order += [t.order for t in granted]
    return order


def test_a_stream_of_parts_does_not_keep_a_whole_one_out() -> None:
    """With a plain cap, number 2 would be the last of all."""
    comes = [{"cpu": 1}, {"cpu": 1}, {"cpu": 2}, *({"cpu": 1} for _ in range(50))]
    assert served(Caps(cpu=2), comes, 50)[-1] != 2
    assert served(Caps(cpu=Exclusive(2)), comes, 2) == [0, 1, 2]


def test_a_stream_of_whole_ones_does_not_keep_parts_out() -> None:
    comes = [*({"cpu": 2} for _ in range(50)), {"cpu": 1}, {"cpu": 1}]
    assert served(Caps(cpu=Exclusive(2)), comes, 4) == [0, 50, 51, 1, 2]


def test_between_two_whole_ones_four_times_the_cap_goes_in_parts() -> None:
    comes = [{"cpu": 2}, {"cpu": 2}, *({"cpu": 1} for _ in range(50))]
    order = served(Caps(cpu=Exclusive(2)), comes, 12)
    assert order[0] == 0
    assert order.index(1) == 1 + TURN * 2


def test_whole_ones_follow_one_another_when_nobody_else_waits() -> None:
    assert served(Caps(cpu=Exclusive(2)), [{"cpu": 2}] * 5, 4) == [0, 1, 2, 3, 4]


def test_a_whole_one_that_lacks_something_else_holds_nobody_back() -> None:
    """Or those who have that something and wait for a part would wait for ever."""
    caps = Caps(cpu=Exclusive(2), slot=1)
    holder, whole, part = (
        Ticket(caps.ledger.calls, caps.ledger.resolve(needs), n)
        for n, needs in enumerate([{"slot": 1}, {"slot": 1, "cpu": 2}, {"cpu": 1}])
    )
    assert caps.ledger.request(holder, 0.0)
    assert not caps.ledger.request(whole, 0.0)
    assert caps.ledger.request(part, 0.0)
    caps.ledger.release(holder, 1.0)
    assert caps.ledger.grants(0.0) == []
    late = Ticket(caps.ledger.calls, part.needs, 3)
    assert not caps.ledger.request(late, 0.0), "now it lacks nothing but the cap"
    caps.ledger.release(part, 1.0)
    assert caps.ledger.grants(0.0) == [whole]


def test_a_whole_one_that_waits_for_a_rate_holds_nobody_back() -> None:
    caps = Caps(cpu=(Exclusive(2), Rate(requests=60)))
    first, whole = (
        Ticket(caps.ledger.calls, caps.ledger.resolve({"cpu": u}), n) for n, u in enumerate((1, 2))
    )
    assert caps.ledger.request(first, 0.0)
    assert not caps.ledger.request(whole, 0.0)
    assert not caps.ledger._has_to_wait_its_turn(caps.ledger.resources["cpu"], 1, 0.5)
    assert caps.ledger._has_to_wait_its_turn(caps.ledger.resources["cpu"], 1, 1.0)


def test_a_whole_one_that_comes_to_lack_something_lets_those_go_who_waited_for_it() -> None:
    caps = Caps(cpu=Exclusive(2), slot=1)
    first, whole, part, thief = (
        Ticket(caps.ledger.calls, caps.ledger.resolve(needs), n)
        for n, needs in enumerate([{"cpu": 1}, {"slot": 1, "cpu": 2}, {"cpu": 1}, {"slot": 1}])
    )
    assert [caps.ledger.request(t, 0.0) for t in (first, whole, part)] == [True, False, False]
    assert caps.ledger.request(thief, 0.0)
    assert caps.ledger.grants(0.0) == [part]


def test_a_whole_one_that_leaves_lets_those_go_who_waited_for_it() -> None:
    caps = Caps(cpu=Exclusive(2))
    first, whole, part = (
        Ticket(caps.ledger.calls, caps.ledger.resolve({"cpu": u}), n)
        for n, u in enumerate((1, 2, 1))
    )
    assert caps.ledger.request(first, 0.0)
    assert not caps.ledger.request(whole, 0.0)
    assert not caps.ledger.request(part, 0.0)
    caps.ledger.withdraw(whole)
    assert caps.ledger.may_grant
    assert caps.ledger.grants(0.0) == [part]


def test_one_item_takes_turns_at_one_exclusive_cap() -> None:
    """Each of two could wait for the other's turn."""
    with pytest.raises(UsageError, match="exclusive caps a, b at once"):
        Caps(a=Exclusive(2), b=Exclusive(2)).ledger.resolve({"a": 1, "b": 2})


@pytest.mark.parametrize("permits", [0, -1, True, "2", 1.5])
def test_an_exclusive_cap_has_a_whole_number_of_permits(permits: int) -> None:
    with pytest.raises(UsageError):
        Caps(cpu=Exclusive(permits))
    with pytest.raises(UsageError, match="two caps"):
        Caps(cpu=(Exclusive(2), 3))
