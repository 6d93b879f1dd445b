"""Which calls are made from a recorded one, and what is observed beside values."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from fanwise.optimize.differential.describe import describe_step
from fanwise.optimize.differential.equal import FormMatcher, Tolerance
from fanwise.optimize.differential.injected.fanwise_child.argument_kinds import DeepArgument
from fanwise.optimize.differential.injected.fanwise_child.hints import admits
from fanwise.optimize.differential.injected.fanwise_child.outcome import _key
from fanwise.optimize.differential.injected.fanwise_child.random_arguments import AtomPool, regrow
from fanwise.optimize.differential.injected.fanwise_child.returned import cancelled
from fanwise.optimize.differential.injected.fanwise_child.variations import (
    changes,
    relatives,
    spellings,
)


def made(value: Any) -> dict[str, tuple[str, Any]]:
    return {label: (level, new) for label, level, new in changes(value, random.Random(0), top=True)}


def test_two_spellings_are_one_text_for_some_programs() -> None:
    (_, sharp, upper), (_, one, two), (_, *signs), (_, short, long) = spellings("img7")
    assert signs == ["img7[a]+(b"] * 2, "a pattern that matches itself, unless signs mean something"
    assert sharp.casefold() == upper.casefold() and sharp.lower() != upper.lower()
    assert one != two and len(one) + 1 == len(two)
    assert (short, long) == ("img7", "img07")
    both = [new for label, (_, new) in made(["a1"]).items() if label.startswith("two spellings")]
    assert ["a1", "a01"] in both and ["a01", "a1"] in both


def test_a_relative_shares_both_ends_with_a_text() -> None:
    assert ("with its last twice", "abb") in list(relatives("ab"))
    assert list(relatives("")) == []


def test_values_of_a_dict_change_places_strictly_only_within_a_type() -> None:
    assert made({"a": 1, "b": 2})["values shuffled"][0] == "strict"
    assert made({"size": 1, "children": []})["values shuffled"][0] == "foreign"
    assert made({"size": 1, "children": []})["all values the same"][0] == "foreign"


def test_a_random_dict_has_no_value_under_a_key_that_has_values_of_another_type() -> None:
    value = {"size": 1, "children": []}
    pool = AtomPool(random.Random(1))
    pool.gather(value)
    for _ in range(300):
        grown = regrow(value, pool)
        assert isinstance(grown.get("size", 0), int)
        assert isinstance(grown.get("children", []), list)


def test_a_moment_is_tried_in_a_zone_and_in_none() -> None:
    naive = datetime(2024, 5, 17, 13, 45)
    level, moved = made(naive)["in a zone"]
    assert (level, moved.replace(tzinfo=None)) == ("foreign", naive)
    assert made(moved)["in no zone"] == ("foreign", naive)
    assert {*made(date(2023, 1, 31))} >= {"a leap day", "the end of a year"}
    assert made(timedelta(1))["negative"] == ("strict", timedelta(-1))
    assert made(Decimal("1.5"))["with half a cent"] == ("strict", Decimal("1.505"))


def test_some_random_arguments_are_of_few_atoms_alone() -> None:
    pool = AtomPool(random.Random(0))
    pool.gather([1000, "long text"])
    pool.few = True
    grown = [regrow([1000, "long text"], pool) for _ in range(40)]
    atoms = {each for row in grown for each in row}
    assert atoms <= {*range(6), "a", "b", "ab", "ba"}
    assert max(map(len, grown)) >= 8, "so that some come together"


def test_bytes_become_so_many_that_sums_overflow() -> None:
    assert sum(made(b"ab")["large, of large ones"][1]) > 1 << 16


@pytest.mark.parametrize(
    ("hint", "admitted"), [(list[list[int]], False), (list[list[Any]], True), (list, True)]
)
def test_lists_in_lists_are_as_deep_as_the_hint_says(hint: Any, admitted: bool) -> None:
    assert admits(hint, DeepArgument([1])) is admitted


def test_an_exception_has_its_attributes() -> None:
    error = ValueError("bad")
    assert _key(error) is None
    error.position = 3  # type: ignore[attr-defined]
    error._cache = 4  # type: ignore[attr-defined]
    assert _key(error)[2] == [["position", 3]]


def test_a_coroutine_that_goes_on_after_it_was_cancelled_is_found() -> None:
    async def obeys() -> None:
        await asyncio.sleep(0)

    async def swallows() -> int:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        return 1

    async def never_waits() -> int:
        return 1

    works = (obeys(), swallows(), never_waits())
    assert [asyncio.run(cancelled(each)) for each in works] == [False, True, False]


def test_what_a_generator_returns_and_the_fields_of_an_exception_are_told() -> None:
    ended = {"out": ["lazy", [[7, None]], [[], []], ["end", 2]]}
    assert describe_step(ended, "generator") == "yields 7, then returns 2"
    fields = ["dict", 0, [["position", 4]]]
    raised = {"out": ["raise", "mod.PairError", "no =", True, fields]}
    assert describe_step(raised, "exception") == "raises mod.PairError: no =, with {'position': 4}"


def test_a_wrapper_has_the_name_of_what_it_wraps_if_the_original_says_so() -> None:
    wrapped, other, plain = (["function", [1], name] for name in ("add", "call", None))
    match = FormMatcher(Tolerance())
    assert match.same(wrapped, ["function", [1], "add"])
    assert not match.same(wrapped, other)
    assert not match.same(wrapped, plain)
    assert match.same(plain, wrapped)  # a candidate may say more
