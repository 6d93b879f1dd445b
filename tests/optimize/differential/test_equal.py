"""When two forms are the same, and which differences are held against a candidate: both pure."""

from __future__ import annotations

import math
import sys
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.optimize.differential.compare import compare, missing
from fanwise.optimize.differential.equal import FormMatcher, Tolerance, close
from fanwise.optimize.differential.injected.fanwise_child.forms import Former
from fanwise.optimize.differential.observe import Observations, ObservedCall
from fanwise.optimize.differential.plan import Level, PlannedCall


def same(a: object, b: object, tolerance: float = 1e-9) -> bool:
    return FormMatcher(Tolerance(tolerance)).same(Former().form(a), Former().form(b))


class Thing:
    def __init__(self, **state: object) -> None:
        self.__dict__.update(state)


@dataclass(frozen=True)
class Point:
    x: float


class Words(list[Any]):
    pass


SHARED: list[int] = [1]
OTHER: list[int] = [1]
DIFFERENT: list[tuple[Any, Any]] = [
    (1, True),
    (1, 1.0),
    (0.0, -0.0),
    (1.0, 1.0 + 1e-6),
    (math.nan, 0.0),
    ("a", b"a"),
    ([1, 2], [2, 1]),
    ([1], (1,)),
    ({1: 2, 3: 4}, {3: 4, 1: 2}),
    ([SHARED, SHARED], [[1], [1]]),
    ([SHARED, OTHER, SHARED], [SHARED, OTHER, OTHER]),
    ([1], Words([1])),
    ({"a": 1}, OrderedDict(a=1)),
    (defaultdict(int), defaultdict(list)),
    (Thing(a=1), Thing(a=2)),
    (Thing(a=1), Thing(a=1, b=1)),
    (Thing(a=1, _b=1), Thing(a=1)),
    (Point(1.0), Point(2.0)),
    (Decimal("1.0"), Decimal("1.00")),
    (deque([1, 2]), deque([2, 1])),
    (ValueError("a"), ValueError("b")),
    (["float", "0x1p+0"], ["float", "0x1p+1"]),
    (1 << 80, (1 << 80) + 1),
    ({1, 2}, {1, 3}),
    (list, tuple),
]
EQUAL: list[tuple[Any, Any]] = [
    (1.0, 1.0 + 1e-12),
    (math.nan, -math.nan),
    ({3, 1, 2}, {2, 3, 1}),
    ([(1, 2), (1, 2)], [(1, 2), (1, 2)]),
    (Thing(a=[1]), Thing(a=[1])),
    (Thing(a=1), Thing(a=1, _cache={})),
    (Point(0.1 + 0.2), Point(0.3)),
    ([SHARED, SHARED], [SHARED, SHARED]),
    (deque([1]), deque([1])),
    ([Decimal("1.5")], [Decimal("1.5")]),
]


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_these_differ(a: object, b: object) -> None:
    assert not same(a, b)
    assert same(a, a)


@pytest.mark.parametrize(("a", "b"), EQUAL)
def test_these_do_not(a: object, b: object) -> None:
    assert same(a, b)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3), inner, max_size=4)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_a_value_is_the_same_as_itself_after_a_way_through_json(value: object) -> None:
    form = Former().form(value)
    back = msgspec.json.decode(msgspec.json.encode(form))
    assert FormMatcher(Tolerance(0.0)).same(form, back)


@given(VALUES, VALUES)
def test_without_tolerance_the_same_means_the_same_repr(a: object, b: object) -> None:
    assert same(a, b, 0.0) == (repr(a) == repr(b))


@given(st.floats(), st.floats())
def test_closeness_has_no_direction(a: float, b: float) -> None:
    assert close(a, b, Tolerance()) == close(b, a, Tolerance())


def test_a_thing_may_contain_itself_and_be_deeper_than_python_recurses() -> None:
    loop: list[object] = []
    loop.append(loop)
    assert same(loop, loop)
    assert not same(loop, [[]])
    deep: list[object] = []
    deeper: list[object] = []
    for _ in range(sys.getrecursionlimit() * 3):
        deep = [deep]
        deeper = [deeper]
    assert same(deep, deeper)
    assert not same(deep, [deeper])


def test_that_a_result_is_an_argument_is_seen() -> None:
    given = [1]
    one, other = Former(), Former()
    first = [one.form(given), one.form(given)]
    second = [other.form(given), other.form([1])]
    match = FormMatcher(Tolerance())
    assert match.same(first[0], second[0])
    assert not match.same(first[1], second[1])


# What is held against a candidate, by how far the arguments are from recorded ones.

VALUE = ["value", None]


def raised(kind: str, text: str = "x", *, deliberate: bool = False) -> list[Any]:
    return ["raise", kind, text, deliberate, None]


def step(out: list[Any], value: object = None) -> dict[str, Any]:
    form = Former().form(value)
    plain: dict[str, Any] = {"stdout": "", "stderr": "", "warnings": [], "globals": {}}
    return {"out": out, "args": [[], ["dict", 0, []], form], "taken": [], **plain}


def differs(level: Level, a: dict[str, Any], b: dict[str, Any]) -> str:
    entry = PlannedCall(1, 1, "", level, "once")
    ours, theirs = (
        Observations(seen={1: ObservedCall(msgspec.Raw(msgspec.json.encode([each])))})
        for each in (a, b)
    )
    found = compare([entry], ours, theirs)
    return found[0].kind if found else ""


ON_PURPOSE = step(raised("ValueError", "no 3", deliberate=True))
FAILED = step(raised("TypeError", "unsupported"))
FIVE, SIX = step(VALUE, 5), step(VALUE, 6)


@pytest.mark.parametrize(
    ("level", "ours", "theirs", "kind"),
    [
        ("strict", FIVE, SIX, "value"),
        ("foreign", FIVE, SIX, "value"),
        ("far", FIVE, SIX, "value"),
        ("strict", FIVE, FAILED, "exception"),
        ("foreign", FIVE, FAILED, "exception"),
        ("opaque", FIVE, FAILED, "exception"),
        ("far", FIVE, FAILED, "exception"),
        ("far", FIVE, step(raised("ValueError")), "exception"),
        ("strict", FAILED, FIVE, "exception"),
        ("strict", FAILED, step(raised("TypeError", "another text")), ""),
        ("strict", FAILED, step(raised("IndexError")), "exception"),
        ("foreign", FAILED, FIVE, ""),
        ("foreign", FAILED, step(raised("IndexError")), ""),
        ("foreign", ON_PURPOSE, FIVE, "exception"),
        ("foreign", ON_PURPOSE, step(raised("ValueError", "no")), "exception"),
        ("far", ON_PURPOSE, step(raised("KeyError", "no 3")), "exception"),
        ("strict", ON_PURPOSE, step(raised("ValueError", "no 3")), ""),
        ("strict", step(raised("RecursionError")), FIVE, ""),
        ("strict", FIVE, step(raised("RecursionError")), "exception"),
        ("strict", FIVE, {**FIVE, "stdout": "x"}, "stdout"),
        ("strict", FIVE, {"out": "nonsense"}, "ended"),
    ],
)
def test_the_rule(level: Level, ours: dict[str, Any], theirs: dict[str, Any], kind: str) -> None:
    assert differs(level, ours, theirs) == kind


def test_an_entry_without_an_answer_is_missing_and_no_difference() -> None:
    entry = PlannedCall(1, 1, "", "strict", "once")
    ours = Observations(seen={1: ObservedCall(msgspec.Raw(msgspec.json.encode([FIVE])))})
    theirs = Observations(seen={})
    assert compare([entry], ours, theirs) == []
    assert missing([entry], theirs) == 1
    assert missing([entry], ours) == 0
