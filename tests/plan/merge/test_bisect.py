"""The leaves that break the check are found, with few checks, whatever breaks with what."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from fanwise.plan.merge.bisect import Culprits, LeftOut, NextCheck, bisect
from tests.profiles import examples


def search(
    leaves: Sequence[str],
    passes: Callable[[set[str]], bool],
    after: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Culprits, int]:
    """What is found, and after how many checks."""
    known: dict[frozenset[str], bool] = {}
    while isinstance(step := bisect(leaves, after or {}, known), NextCheck):
        without = frozenset(step.without)
        assert without not in known, "nothing is checked twice"
        assert set(step.leaves) == set(leaves) - without
        for leaf in step.leaves:
            assert set((after or {}).get(leaf, ())) <= set(step.leaves), (
                "none without what it needs"
            )
        known[without] = passes(set(step.leaves))
    return step, len(known)


def names(count: int) -> list[str]:
    return [f"L{number:03}" for number in range(count)]


def test_one_of_many_is_found_in_few_checks() -> None:
    for guilty in names(128)[::5]:
        found, checks = search(names(128), partial(lacks, guilty))
        assert found.left_out == (LeftOut(leaf=guilty),)
        assert found.leaves == tuple(each for each in names(128) if each != guilty)
        assert checks <= 7 + 3


def lacks(guilty: str, kept: set[str]) -> bool:
    return guilty not in kept


def test_two_that_break_only_together_cost_the_later_one() -> None:
    found, _ = search(names(20), lambda kept: not {"L003", "L011"} <= kept)
    assert found.left_out == (LeftOut(leaf="L011"),)


def test_several_are_found_one_after_another() -> None:
    guilty = {"L001", "L002", "L017"}
    found, checks = search(names(20), lambda kept: not guilty & kept)
    assert {each.leaf for each in found.left_out} == guilty
    assert checks <= 3 * (5 + 2) + 2


def test_those_that_come_after_one_are_left_out_with_it() -> None:
    after = {"L002": ["L001"], "L003": ["L002"], "L004": ["L000"]}
    found, _ = search(names(5), lambda kept: "L001" not in kept, after)
    assert found.left_out == (
        LeftOut(leaf="L001"),
        LeftOut(leaf="L002", after="L001"),
        LeftOut(leaf="L003", after="L001"),
    )
    assert found.leaves == ("L000", "L004")


def test_one_that_stands_before_what_it_needs_in_the_tree_is_never_tried_without() -> None:
    after = {"L000": ["L003"], "L003": ["L004"]}
    found, _ = search(names(5), lambda kept: "L002" not in kept, after)
    assert found.left_out == (LeftOut(leaf="L002"),)
    assert found.leaves == ("L000", "L001", "L003", "L004"), "told in the order of the tree"


def test_a_circle_does_not_hang() -> None:
    found = bisect(["a", "b"], {"a": ["b"], "b": ["a"]}, {frozenset(): True})
    assert found == Culprits(leaves=("a", "b"))


def test_one_that_needs_a_later_one_comes_back() -> None:
    """A use that stands before its definition: alone it fails, together they pass."""

    def passes(kept: set[str]) -> bool:
        return ("L001" not in kept or "L006" in kept) and "L003" not in kept

    found, _ = search(names(8), passes)
    assert found.left_out == (LeftOut(leaf="L003"),)


def test_a_check_that_fails_on_the_base_says_nothing_about_leaves() -> None:
    found, checks = search(names(50), lambda kept: False)
    assert found.base_fails
    assert found.leaves == ()
    assert checks == 2


def test_a_check_that_passes_leaves_none_out() -> None:
    assert search(names(3), lambda kept: True) == (Culprits(leaves=tuple(names(3))), 1)
    assert search([], lambda kept: True) == (Culprits(leaves=()), 1)


@examples(0.5)
@given(st.data())
def test_whatever_breaks_the_rest_passes(data: st.DataObject) -> None:
    leaves = names(data.draw(st.integers(1, 24)))
    some = st.lists(st.sampled_from(leaves), min_size=1, max_size=3, unique=True)
    bad = data.draw(st.lists(some.map(frozenset), max_size=4))
    after = {
        leaf: data.draw(st.lists(st.sampled_from(leaves[:number]), max_size=2, unique=True))
        for number, leaf in enumerate(leaves)
        if number and data.draw(st.booleans())
    }
    found, checks = search(leaves, lambda kept: not any(each <= kept for each in bad), after)
    kept = set(found.leaves)
    assert not any(each <= kept for each in bad)
    assert kept | {each.leaf for each in found.left_out} == set(leaves)
    assert len(found.leaves) + len(found.left_out) == len(leaves)
    culprits = [each.leaf for each in found.left_out if each.after is None]
    assert all(any(leaf in each for each in bad) for leaf in culprits), "no innocent one"
    assert checks <= (len(culprits)) * (math.ceil(math.log2(len(leaves))) + 2) + 2
    for each in found.left_out:
        assert each.after is None or each.after in culprits


@examples(0.5)
@given(st.integers(1, 12), st.randoms(use_true_random=False))
def test_even_a_check_without_any_sense_ends_with_what_passed(count: int, random: Random) -> None:
    answers: dict[frozenset[str], bool] = {frozenset(): True}

    def passes(kept: set[str]) -> bool:
        return answers.setdefault(frozenset(kept), bool(random.getrandbits(1)))

    found, _ = search(names(count), passes)
    assert answers[frozenset(found.leaves)]
