"""How changes come together: conflicts, the check, who is to blame, the result."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st

from fanwise.plan.model.node import FileNote
from fanwise.plan.state.merge_phase import MergePhase
from tests.plan.state.world import World, leaf
from tests.profiles import examples

ABCD = [leaf(name) for name in "abcd"]


def joined(world: World) -> MergePhase:
    world.run()
    assert world.board.merge_phase is not None
    return world.board.merge_phase


def fates(**given: str) -> dict[str, str]:
    return {**dict.fromkeys("abcd", "change"), **given}


def test_all_that_changed_is_merged_in_the_order_of_the_tree_then_checked_then_left() -> None:
    for order in range(6):
        world = World(ABCD, fates(b="nothing"), order=order, check="test")
        result = joined(world).result
        assert world.log[-3:] == ["merge:0", "check:0", "result"]
        assert result is not None
        assert result.leaves == ("a", "c", "d")


def test_those_in_conflict_are_done_again_one_after_the_other_on_what_was_merged() -> None:
    world = World(ABCD, fates(a="shared", b="shared", d="shared"), settles=("b", "d"))
    found = joined(world)
    assert world.log[4:] == ["merge:0", "again:b", "merge:1", "again:d", "merge:2", "result"]
    assert world.items["again:b"].at == "commit a+c"
    assert world.items["again:d"].at == "commit a+c+b"
    assert world.items["again:d"].conflicts[0].others == ("a",)
    assert found.result is not None
    assert found.result.leaves == ("a", "c", "b", "d")


def test_one_that_cannot_be_settled_is_given_up_and_said() -> None:
    world = World(ABCD, fates(a="shared", b="shared", d="shared"), settles=("d",))
    found = joined(world)
    assert found.result is not None
    assert found.result.leaves == ("a", "c", "d")
    assert found.result.left_out == (FileNote("b", "they want different things"),)


def test_without_any_change_there_is_nothing_to_merge() -> None:
    world = World(ABCD, dict.fromkeys("abcd", "nothing"), check="test")
    assert joined(world).result is None
    assert world.log == ["leaf:a", "leaf:b", "leaf:c", "leaf:d"]


def test_a_failed_check_leaves_nothing_without_bisect() -> None:
    found = joined(World(ABCD, fates(), check="test", bad=lambda leaves: "c" in leaves))
    assert found.result is None
    assert [each.passed for each in found.checks] == [False]


@examples(0.5)
@given(st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=3))
def test_bisect_leaves_out_those_with_which_the_check_fails(guilty: set[str]) -> None:
    names = "abcdefgh"
    world = World(
        [leaf(name) for name in names],
        dict.fromkeys(names, "change"),
        check="test",
        bisect=True,
        bad=lambda leaves: not guilty.isdisjoint(leaves),
    )
    found = joined(world)
    left_out = {name for name in names if world.board.entries[name].left_out}
    assert left_out == guilty
    assert found.result is not None
    assert set(found.result.leaves) == set(names) - guilty
    assert found.result.left_out == tuple(
        FileNote(n, "the check fails with it") for n in sorted(guilty)
    )
    last = [step for step in found.steps if step.commit == found.result.commit]
    assert last, "what is left was merged, and checked, as it is"


def test_bisect_takes_followers_out_with_what_they_come_after() -> None:
    leaves = [leaf("a"), leaf("b", ["a"]), leaf("c"), leaf("d")]

    def bad(merged: Collection[str]) -> bool:
        assert "b" not in merged or "a" in merged, "nobody is tried without what it began with"
        return "a" in merged

    world = World(leaves, fates(), check="test", bisect=True, bad=bad)
    found = joined(world)
    assert found.result is not None
    assert found.result.leaves == ("c", "d")


def test_bisect_takes_out_what_was_settled_on_top_of_what_is_left_out() -> None:
    def bad(merged: Collection[str]) -> bool:
        assert "b" not in merged or "a" in merged
        return "a" in merged

    given = fates(a="shared", b="shared")
    found = joined(World(ABCD, given, settles="b", check="test", bisect=True, bad=bad))
    assert found.result is not None
    assert found.result.leaves == ("c", "d")


def test_if_the_check_fails_without_any_change_nobody_is_blamed() -> None:
    world = World(ABCD, fates(), check="test", bisect=True, bad=lambda leaves: True)
    found = joined(world)
    assert found.innocent
    assert found.result is None
    assert not any(each.left_out for each in world.board.entries.values())
