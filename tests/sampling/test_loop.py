"""The loop as a state machine: no clock, no model, thousands of schedules."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.sampling.state.loop import Loop, SampleSlot, Winner

Fate = Literal["valid", "invalid", "died"]
fates = st.sampled_from(["valid", "invalid", "invalid", "died"])
budgets = st.tuples(st.integers(1, 5), st.integers(1, 5))


def played(
    loop: Loop, tables: dict[tuple[int, int], Fate], order: list[int]
) -> tuple[list[SampleSlot], int]:
    """Play to the end: which of those in flight ends next is drawn from `order`."""
    made: list[SampleSlot] = []
    flying = loop.begin()
    made += flying
    most = len(flying)
    turn = 0
    while flying and not loop.over:
        slot = flying.pop(order[turn % len(order)] % len(flying) if order else 0)
        turn += 1
        told = getattr(loop, tables.get((slot.chain, slot.iteration), "invalid"))
        more = told(slot)
        flying += more
        made += more
        most = max(most, len(flying))
    assert loop.over
    return made, most


tables = st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 24)), fates)
orders = st.lists(st.integers(0, 4), max_size=40)
winners: st.SearchStrategy[Winner] = st.sampled_from(["fastest", "first"])


@given(budgets, tables, orders, winners, st.booleans())
def test_ids_are_unique_and_within_the_table_and_never_more_fly_than_the_width(
    budget: tuple[int, int],
    table: dict[tuple[int, int], Fate],
    order: list[int],
    winner: Winner,
    gathers: bool,
) -> None:
    depth, width = budget
    loop = Loop(depth, width, winner=winner, gathers=gathers)
    made, most = played(loop, table, order)
    ids = [slot.id for slot in made]
    assert len(set(ids)) == len(ids)
    assert all(1 <= each <= depth * width for each in ids)
    assert most <= width
    assert len({(slot.chain, slot.iteration) for slot in made}) == len(made)


@given(budgets, tables, orders, winners)
def test_every_slot_is_used_unless_one_wins_or_all_chains_died(
    budget: tuple[int, int], table: dict[tuple[int, int], Fate], order: list[int], winner: Winner
) -> None:
    depth, width = budget
    loop = Loop(depth, width, winner=winner)
    made, _ = played(loop, table, order)
    died = {p.chain for p in made if table.get((p.chain, p.iteration)) == "died"}
    if loop.winner is None and len(died) < width:
        assert len(made) == depth * width


@given(budgets, tables, st.lists(orders, min_size=2, max_size=4))
def test_the_first_in_order_is_the_same_for_every_order_of_ends(
    budget: tuple[int, int], table: dict[tuple[int, int], Fate], all_orders: list[list[int]]
) -> None:
    depth, width = budget
    found = set()
    for order in all_orders:
        loop = Loop(depth, width, winner="first")
        played(loop, table, order)
        found.add(loop.winner)
    assert len(found) == 1


@given(budgets, tables, orders)
def test_the_first_in_order_is_what_one_after_the_other_would_find(
    budget: tuple[int, int], table: dict[tuple[int, int], Fate], order: list[int]
) -> None:
    """By depth, then chain, without the chains that died: a plain loop as the reference."""
    depth, width = budget
    alive = set(range(width))
    expected = None
    for iteration in range(depth):
        for chain in sorted(alive):
            fate = table.get((chain, iteration), "invalid")
            if fate == "died":
                alive.discard(chain)
            elif fate == "valid" and expected is None:
                expected = (chain, iteration)
        if expected is not None:
            break
    loop = Loop(depth, width, winner="first")
    played(loop, table, order)
    if expected is not None:
        assert loop.winner is not None
        assert (loop.winner.chain, loop.winner.iteration) == expected
    else:
        assert loop.winner is None or loop.winner.iteration >= depth


@given(budgets, tables, orders)
def test_gathering_gives_every_living_chain_a_valid_sample_if_there_is_one_for_it(
    budget: tuple[int, int], table: dict[tuple[int, int], Fate], order: list[int]
) -> None:
    depth, width = budget
    loop = Loop(depth, width, gathers=True)
    made, _ = played(loop, table, order)
    assert loop.winner is None
    for chain in range(width):
        row = [table.get((chain, iteration), "invalid") for iteration in range(depth)]
        ends = next((i for i, fate in enumerate(row) if fate != "invalid"), depth - 1)
        mine = [slot.iteration for slot in made if slot.chain == chain]
        assert mine[: ends + 1] == list(range(ends + 1))
        if row[ends] != "invalid":
            assert len(mine) == ends + 1


def test_ids_are_chain_times_depth_plus_iteration_plus_one() -> None:
    loop = Loop(3, 2)
    first, second = loop.begin()
    assert (first.id, second.id) == (1, 4)
    assert [slot.id for slot in loop.invalid(second)] == [5]


def test_what_a_dead_chain_left_is_used_under_its_own_ids() -> None:
    loop = Loop(3, 2)
    first, second = loop.begin()
    assert loop.died(second) == []
    slots = [first]
    while following := loop.invalid(slots[-1]):
        slots += following
    assert [slot.id for slot in slots] == [1, 2, 3, 5, 6]
    assert [slot.iteration for slot in slots] == [0, 1, 2, 3, 4]
    assert {slot.chain for slot in slots} == {0}


def test_a_chain_that_had_used_up_its_own_goes_on_when_another_dies_later() -> None:
    loop = Loop(2, 2)
    first, second = loop.begin()
    (first,) = loop.invalid(first)
    assert loop.invalid(first) == []
    assert [(p.chain, p.id) for p in loop.died(second)] == [(0, 4)]


def test_with_the_first_as_winner_no_sample_is_made_that_could_not_win() -> None:
    loop = Loop(3, 2, winner="first")
    first, second = loop.begin()
    assert loop.valid(second) == []
    assert loop.winner is None
    assert loop.invalid(first) == []
    assert loop.winner == second


def test_what_the_dead_left_goes_to_the_first_of_those_that_wait() -> None:
    loop = Loop(2, 3, winner="first")
    first, second, third = loop.begin()
    assert loop.died(third) == []
    (first,), (second,) = loop.invalid(first), loop.invalid(second)
    assert loop.invalid(second) == []
    assert [(slot.chain, slot.id) for slot in loop.invalid(first)] == [(0, 6)]


@pytest.mark.parametrize("bad", [0, -1, True, 1.5])
def test_budgets_below_one_are_refused(bad: int) -> None:
    with pytest.raises(ValueError, match="loop_budget"):
        Loop(bad, 1)
    with pytest.raises(ValueError, match="concurrency_budget"):
        Loop(1, bad)
