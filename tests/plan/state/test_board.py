"""Which sub-plan begins when: the state machine, in every order of events."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.plan.model.node import Node
from fanwise.plan.state.leaf_queue import one_at_a_time
from tests.plan.state.world import Fates, World, leaf
from tests.profiles import examples

FATES = ("change", "change", "nothing", "fail", "split", "shared")
Drawn = tuple[list[Node], Fates]


@st.composite
def plans(draw: st.DrawFn, fates: tuple[str, ...] = FATES, most: int = 7) -> Drawn:
    """Leaves in any order of the tree, that come after others without a circle."""
    count = draw(st.integers(1, most))
    names = [f"l{n}" for n in range(count)]
    found = []
    for number, name in enumerate(names):
        after = (
            draw(st.lists(st.sampled_from(names[:number]), unique=True, max_size=2))
            if number
            else []
        )
        found.append(leaf(name, after))
    ordered = draw(st.permutations(found))
    return ordered, {name: draw(st.sampled_from(fates)) for name in names}


@examples(0.5)
@given(plans(), st.integers(), st.integers(), st.sets(st.sampled_from([f"l{n}" for n in range(7)])))
def test_what_it_comes_to_does_not_depend_on_who_was_quicker(
    plan: Drawn, one: int, other: int, settles: set[str]
) -> None:
    leaves, fates = plan
    first = World(leaves, fates, order=one, settles=settles, check="test").run()
    second = World(leaves, fates, order=other, settles=settles, check="test").run()
    assert first.came_to == second.came_to


@examples(0.5)
@given(plans(), st.integers())
def test_every_leaf_ends_in_one_state_and_its_followers_begin_on_its_change_or_not_at_all(
    plan: Drawn, order: int
) -> None:
    world = World(*plan, order=order).run()
    board = world.board
    for node in board.tree.leaves:
        entry = board.entries[node.id]
        ways = [entry.result is not None, entry.error is not None, entry.skipped_by is not None]
        assert ways.count(True) == 1, node.id
        assert (f"leaf:{node.id}" in world.items) == (entry.skipped_by is None)
        wrong = {e for e in node.after if board.entries[e].result is None}
        assert bool(wrong) == (entry.skipped_by is not None)
        if entry.skipped_by is not None:
            assert board.entries[entry.skipped_by].error is not None, "the one that failed is named"
        else:
            item = world.items[f"leaf:{node.id}"]
            begun_with = {change.leaf for change in item.before}
            for each in node.after:
                changed = board.entries[each].change is not None
                assert (each in begun_with) == changed


class Watched(World):
    """Looks, after every event, whether somebody waits who could begin."""

    def perform(self, item):  # type: ignore[no-untyped-def]
        items = super().perform(item)
        begun = {*self.items, *(each.key for each in items)}
        for node in self.board.tree.leaves:
            done = all(self.board.entries[each].result is not None for each in node.after)
            if done and self.board.entries[node.id].skipped_by is None:
                assert f"leaf:{node.id}" in begun, "it could have begun"
        return items


@examples(0.5)
@given(plans(), st.integers())
def test_a_leaf_begins_at_the_moment_at_which_all_that_it_comes_after_is_done(
    plan: Drawn, order: int
) -> None:
    Watched(*plan, order=order).run()


def test_there_are_no_waves() -> None:
    """With a barrier after each level, `second` would wait for `slow`, and `third` twice."""
    leaves = [leaf("slow"), leaf("first"), leaf("second", ["first"]), leaf("third", ["second"])]
    world = World(leaves, dict.fromkeys(("slow", "first", "second", "third"), "change"))
    slow, first = world.board.begin()
    (second,) = world.perform(first)
    (third,) = world.perform(second)
    assert third.key == "leaf:third"
    assert world.perform(third) == [], "and nothing is merged before the slow one is done"
    assert [each.kind for each in world.perform(slow)] == ["merge"]


def test_followers_of_a_leaf_that_was_split_come_after_all_its_parts() -> None:
    world = World([leaf("a"), leaf("b", ["a"])], {"a": "split", "b": "change"}).run()
    assert world.log.index("leaf:b") > max(world.log.index(f"leaf:a.{n}") for n in range(3))
    assert [change.leaf for change in world.items["leaf:b"].before] == ["a.0", "a.2"]
    assert world.board.merge_phase is not None
    assert world.board.merge_phase.steps[0].merged.leaves == ("a.0", "a.2", "b")


def test_files_that_all_may_change_are_nobodys_beginning() -> None:
    fates = {"a": "shared", "b": "change"}
    leaves = [leaf("a"), leaf("b", ["a"])]
    world = World(leaves, fates, shared=lambda path: path == "shared.py").run()
    assert world.items["leaf:b"].before[0].files == {}


def test_a_leaf_counts_as_the_same_only_with_the_same_work_and_the_same_beginning() -> None:
    def of(name: str, fates: Fates, **wanted: object) -> str:
        leaves = [leaf("a"), leaf("b", ["a"]), leaf("c")]
        return World(leaves, fates, **wanted).run().items[f"leaf:{name}"].of  # type: ignore[arg-type]

    fates = {"a": "change", "b": "change", "c": "change"}
    quiet = {**fates, "a": "nothing"}
    assert of("b", fates) == of("b", fates)
    assert of("b", fates) != of("b", quiet), "what it begins with is another"
    assert of("c", fates) == of("c", quiet)
    assert of("c", fates) != of("c", fates, work="another command")


@examples(0.5)
@given(plans(), st.integers(), st.integers(1, 4))
def test_fail_fast_comes_to_what_one_at_a_time_would_have_come_to(
    plan: Drawn, order: int, at_once: int
) -> None:
    alone = World(*plan, fail_fast=True).run(at_once=1)
    many = World(*plan, fail_fast=True, order=order).run(at_once)
    assert many.board.halted == alone.board.halted
    assert [n.id for n in many.board.sequence()] == [n.id for n in alone.board.sequence()]
    for node in alone.board.sequence():
        one, other = (each.board.entries[node.id] for each in (alone, many))
        assert (one.result, one.error) == (other.result, other.error)
    if alone.board.halted is None:
        assert many.came_to == alone.came_to
    else:
        assert many.board.merge_phase is None or many.board.merge_phase.result is None


def test_one_at_a_time_stops_at_the_failure_and_many_start_nothing_beyond_it() -> None:
    names = ["a", "b", "c", "d", "e"]
    fates = {**dict.fromkeys(names, "change"), "c": "fail"}
    alone = World([leaf(name) for name in names], fates, fail_fast=True).run(at_once=1)
    assert [n.id for n in alone.board.sequence()] == ["a", "b", "c"]
    assert alone.board.halted == "c"
    chained = [leaf("a"), leaf("b"), leaf("c"), leaf("d", ["a"]), leaf("e", ["d"])]
    world = World(chained, fates, fail_fast=True)
    a, b, c = world.board.begin()
    assert world.perform(c) == []
    assert not world.board.over, "those before it may fail too"
    assert world.perform(a) == [], "d could begin now, and comes after the failure"
    assert world.perform(b) == []
    assert world.board.over


def test_after_a_resume_nothing_begins_that_lies_beyond_a_recorded_failure() -> None:
    fates = {"a": "change", "b": "fail", "c": "change"}
    leaves = [leaf("a"), leaf("b"), leaf("c")]
    world = World(leaves, fates, fail_fast=True, failed=["b"])
    assert [item.key for item in world.board.begin()] == ["leaf:a", "leaf:b"]
    world = World(leaves, {**fates, "b": "change"}, fail_fast=True, failed=["b"]).run()
    assert world.board.halted is None, "unless it does not fail any more"
    assert "leaf:c" in world.items


def test_one_at_a_time_takes_the_first_that_could_be_next() -> None:
    leaves = [leaf("a", ["z"]), leaf("b"), leaf("z"), leaf("c", ["a"])]
    assert [each.id for each in one_at_a_time(leaves)] == ["b", "z", "a", "c"]


def test_leaves_in_a_circle_are_said_and_not_waited_for() -> None:
    world = World([leaf("a", ["b"]), leaf("b", ["a"]), leaf("c")], {"c": "change"}).run()
    assert world.board.entries["a"].error == "it comes after itself, by way of others"
    assert world.board.merge_phase is not None
    assert world.board.merge_phase.result is not None


def lines_run(leaves: list[Node], fates: Fates, **wanted: object) -> int:
    """How much is done until all leaves have ended: in lines of code, so that no clock is asked."""
    count = 0

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    world = World(leaves, fates, **wanted)  # type: ignore[arg-type]
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        waiting = world.board.begin()
        while waiting and not world.board.over and world.board.merge_phase is None:
            waiting += world.perform(waiting.pop())
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("fail_fast", [False, True])
@pytest.mark.parametrize("long", [1, 10])
def test_what_an_end_costs_does_not_grow_with_the_plan(long: int, fail_fast: bool) -> None:
    def plan(count: int) -> int:
        leaves = [leaf(f"l{n}", [f"l{n - 1}"] if n % long else []) for n in range(count)]
        fates = {each.id: "nothing" for each in leaves}
        fates["l0"] = "nothing" if fail_fast else "fail"
        return lines_run(leaves, fates, fail_fast=fail_fast)

    assert plan(400) < 6 * plan(100), "four times as many: four times as much, and not sixteen"


def test_with_leaves_in_a_circle_only_there_is_nothing_to_halt_at() -> None:
    world = World([leaf("a", ["b"]), leaf("b", ["a"])], {}, fail_fast=True).run()
    assert world.board.entries["a"].error == "it comes after itself, by way of others"
