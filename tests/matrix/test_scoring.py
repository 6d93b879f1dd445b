"""The scorers that need nothing but the answer, with their conventions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.errors import UsageError
from fanwise.matrix.scores.formulas import SCORERS, exact, f1, json_match, regex

values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("answer", "expected", "score"),
    [
        (" Positive\n", "positive", 1),
        ("positive.", "positive", 0),
        ("new  york", "new york", 0),
        ("STRASSE", "straße", 1),
        ("e\u0301", "\u00e9", 1),
        (5, "5", 1),
        (True, "true", 1),
        (None, "null", 1),
        (None, "", 0),
        ("", "", 1),
        (1, 1.0, 1),
        (True, 1, 0),
        ({"a": [1, 2]}, {"a": [1, 2.0]}, 1),
        ("no", ["yes", "no"], 1),
        ("no", [], 0),
        (["a", "b"], ["a", "b"], 1),
        (["a"], ["a", "b"], 0),
    ],
)
def test_exact(answer: object, expected: object, score: float) -> None:
    assert exact(answer, expected) == score


@pytest.mark.parametrize(
    ("answer", "expected", "score"),
    [
        ("The cat sat.", "a cat sat", 1),
        ("the cat", "the dog", 0),
        ("cat cat", "cat", 2 / 3),
        ("big red cat", "red cat", 0.8),
        ("", "", 1),
        ("the", "", 1),
        ("", "cat", 0),
        ("red cat", ["dog", "cat"], 2 / 3),
        (42, "42", 1),
    ],
)
def test_f1_is_that_of_squad(answer: object, expected: object, score: float) -> None:
    assert f1(answer, expected) == pytest.approx(score)


@pytest.mark.parametrize(
    ("answer", "expected", "score"),
    [
        ("the answer is 42.", r"\b42\b", 1),
        ("the answer is 421", r"\b42\b", 0),
        ("Yes", "yes", 0),
        ("one\ntwo", "^two$", 1),
        ("b", ["a", "b"], 1),
        ({"n": 1}, '"n": 1', 1),
    ],
)
def test_regex(answer: object, expected: object, score: float) -> None:
    assert regex(answer, expected) == score


@pytest.mark.parametrize("pattern", ["(", 5, None])
def test_a_pattern_that_is_none_is_an_error_and_no_score(pattern: object) -> None:
    with pytest.raises(UsageError):
        regex("x", pattern)


@pytest.mark.parametrize(
    ("answer", "expected", "score"),
    [
        ('{"a": 1, "b": 2}', {"a": 1}, 1),
        ('{"a": 1}', {"a": 1, "b": 2}, 0),
        ('{"a": {"b": 1, "c": 2}}', {"a": {"b": 1}}, 1),
        ("[1, 2]", [1], 0),
        ("[1, 2]", [1, 2.0], 1),
        ('[{"a": 1, "b": 2}]', [{"a": 1}], 1),
        ("true", 1, 0),
        ("null", None, 1),
        ("not json", {"a": 1}, 0),
        ("", None, 0),
        ("[" * 100_000, [], 0),
        ('```json\n{"a": 1}\n```', {"a": 1}, 1),
        (5, "5", 1),
        ('"5"', "5", 1),
        ('"5"', 5, 0),
        ({"a": 1}, '{"a": 1}', 1),
    ],
)
def test_json(answer: object, expected: object, score: float) -> None:
    assert json_match(answer, expected) == score


@given(values, values)
def test_scores_are_from_0_to_1_and_what_is_the_same_scores_1(one: object, two: object) -> None:
    for scorer in (exact, f1, json_match):
        assert 0 <= scorer(one, two) <= 1
    if not isinstance(one, str):
        assert exact(one, one) == json_match(one, one) == 1
    assert f1(str(one), str(one)) == 1


def test_files_call_them_by_these_names() -> None:
    assert sorted(SCORERS) == ["exact", "f1", "json", "regex"]
