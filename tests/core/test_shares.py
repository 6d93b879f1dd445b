"""How a shared cap is divided: never more than there is, none idle, and fair to the least favoured.

The last test lets holders follow the protocol in random order, and compares with one who sees all.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from fanwise.core.shares import Due, Holding, exchange, fair_shares
from tests.profiles import examples

numbers = st.integers(0, 30)
NOTHING = Due(0, contended=False)


@st.composite
def holdings(draw: st.DrawFn, largest: int = 1) -> list[Holding]:
    count, units = draw(st.integers(1, 8)), st.integers(1, largest)
    return [
        Holding(f"h{n}", draw(numbers), draw(numbers), draw(units), draw(st.floats(0, 100)))
        for n in range(count)
    ]


@given(st.integers(1, 60), holdings(5))
@examples(8)
def test_nobody_gets_more_than_it_can_use_and_nothing_is_idle_while_somebody_could_use_it(
    most: int, every: list[Holding]
) -> None:
    shares = fair_shares(most, every)
    left = most - sum(shares.values())
    assert left >= 0
    for each in every:
        share = shares[each.holder]
        assert share % each.unit == 0
        assert share < each.demand + each.unit
        if share < each.demand:
            assert left < each.unit, "it could use what is left"


@given(st.integers(1, 60), holdings())
@examples(8)
def test_who_wants_more_has_no_less_than_anybody_else_and_the_rest_goes_to_the_least_served(
    most: int, every: list[Holding]
) -> None:
    shares = fair_shares(most, every)
    for one in every:
        if shares[one.holder] == one.demand:
            continue
        for other in every:
            assert shares[other.holder] <= shares[one.holder] + 1
            if shares[other.holder] == shares[one.holder] + 1:
                assert (other.served, other.holder) < (one.served, one.holder)


@given(st.integers(1, 60), holdings())
@examples(4)
def test_the_order_of_the_rows_does_not_matter(most: int, every: list[Holding]) -> None:
    assert fair_shares(most, every) == fair_shares(most, every[::-1])


def test_a_need_of_several_permits_is_met_in_turns_and_not_in_useless_parts() -> None:
    every = [Holding(name, 0, 4, 4, served) for name, served in (("a", 9), ("b", 1), ("c", 5))]
    assert fair_shares(10, every) == {"a": 0, "b": 4, "c": 4}


def test_what_is_held_is_kept_while_nobody_lacks_it_and_given_back_when_somebody_does() -> None:
    idle, busy = Holding("idle", 8, 1), Holding("busy", 2, 2)
    granted, dues = exchange(10, busy, [idle])
    assert (granted, dues["idle"]) == (2, Due(8, contended=False))
    granted, dues = exchange(10, Holding("busy", 2, 7), [idle])
    assert (granted, dues["idle"]) == (2, Due(1, contended=True)), "nothing is taken away"
    granted, dues = exchange(10, Holding("idle", 1, 1), [Holding("busy", 2, 7)])
    assert (granted, dues["busy"].allowed) == (1, 7)
    assert exchange(10, Holding("busy", 2, 7), [Holding("idle", 1, 1)])[0] == 7


def test_after_a_cap_was_lowered_nobody_gets_more_until_there_are_fewer() -> None:
    granted, dues = exchange(4, Holding("a", 1, 9), [Holding("b", 6, 9)])
    assert (granted, dues["b"]) == (1, Due(2, contended=True))


@dataclass
class Process:
    """Uses permits as the kernel does: gives back first, and uses only what it was granted."""

    name: str
    held: int = 0
    in_use: int = 0
    wanted: int = 0
    due: Due = NOTHING

    def row(self) -> Holding:
        return Holding(self.name, self.held, self.in_use + self.wanted)

    def use(self) -> None:
        count = min(self.wanted, self.held - self.in_use)
        self.in_use += count
        self.wanted -= count

    def trade(self, most: int, others: list[Process]) -> None:
        demand = self.in_use + self.wanted
        keep = max(self.in_use, min(self.held, self.due.allowed))
        self.held = min(keep, demand) if self.due.contended else keep
        self.held, dues = exchange(most, self.row(), [each.row() for each in others])
        for each in [self, *others]:
            each.due = dues[each.name]
        self.use()


ACTIONS = st.tuples(st.integers(0, 3), st.sampled_from(["want", "end", "trade"]), st.integers(1, 9))


@given(st.integers(1, 12), st.lists(ACTIONS, max_size=60))
@examples(20)
def test_never_more_are_in_use_than_there_are_and_who_waits_gets_them_in_the_end(
    most: int, actions: list[tuple[int, str, int]]
) -> None:
    every = [Process(name) for name in "abcd"]
    for number, action, count in actions:
        one = every[number]
        if action == "want":
            one.wanted += count
            one.use()
        elif action == "end":
            one.in_use -= min(count, one.in_use)
        else:
            one.trade(most, [each for each in every if each is not one])
        assert sum(each.held for each in every) <= most
        assert all(each.in_use <= each.held for each in every)
    for _ in range(4):  # whoever is told does what it was told
        for one in every:
            one.trade(most, [each for each in every if each is not one])
    used = sum(each.in_use for each in every)
    waiting = sum(each.wanted for each in every)
    assert used == min(most, used + waiting), "none is idle while somebody waits"
