"""Values come back equal or are refused; errors are always recorded."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.errors import AttemptTimeout, CommandFailed, NotStorable, RateLimited, RecordedError
from fanwise.journal.codec import JSON, decode_error, encode_error


class Colour(enum.StrEnum):
    RED = "red"


class Point(msgspec.Struct):
    x: int


@dataclasses.dataclass
class Pair:
    x: int


any_text = st.text(st.characters(codec=None, exclude_categories=[])) | st.just(
    "\ud800x\udcff\ude00"
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | any_text
odd = st.binary() | st.dates() | st.sets(st.integers()) | st.builds(object) | st.just(Point(1))
keys = any_text | st.integers() | st.none() | st.booleans() | st.tuples(st.integers())
anything = st.recursive(
    scalars | odd,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(any_text, inner)
        | st.dictionaries(keys, inner)
    ),
)


def lists_for_tuples(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [lists_for_tuples(member) for member in value]
    if isinstance(value, dict):
        return {key: lists_for_tuples(member) for key, member in value.items()}
    return value


@given(anything)
def test_a_value_comes_back_equal_or_is_refused(value: Any) -> None:
    try:
        text = JSON.encode(value)
    except NotStorable:
        return
    assert JSON.decode(text) == lists_for_tuples(value)
    json.loads(text)  # it is JSON, for everybody
    text.encode()  # and can be stored


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | any_text,
    lambda inner: st.lists(inner) | st.dictionaries(any_text, inner),
)  # fmt: skip


@given(plain)
def test_plain_data_is_never_refused(value: Any) -> None:
    assert JSON.decode(JSON.encode(value)) == value


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({1, 2}, "the value is a set"),
        (b"x", "the value is a bytes"),
        ([{"when": datetime.date(2024, 1, 1)}], r"the value\[0\]\['when'\] is a datetime.date"),
        (math.nan, "it is nan"),
        ([1.0, -math.inf], r"the value\[1\] is a float.*it is -inf"),
        ({1: "x"}, "a key of the value is a int.*come back as a str"),
        (Point(1), "Point"),
        (Pair(1), "Pair"),
        ([Pair(1)], r"the value\[0\]"),
        (object(), "object"),
        (Path("x"), "Path"),
    ],
)
def test_what_would_change_is_refused_and_named(value: Any, says: str) -> None:
    with pytest.raises(NotStorable, match=says):
        JSON.encode(value)


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(NotStorable, match="holds itself"):
        JSON.encode(value)


def test_a_number_that_is_too_long_to_read_back_is_refused() -> None:
    with pytest.raises(NotStorable, match="the value is a int"):
        JSON.encode(10**5000)


def test_a_tuple_comes_back_as_a_list_and_an_enum_of_strings_as_a_string() -> None:
    assert JSON.decode(JSON.encode({"a": (1, (2, 3))})) == {"a": [1, [2, 3]]}
    assert JSON.decode(JSON.encode(Colour.RED)) == "red"


# Errors


def test_an_error_keeps_its_type_text_and_fields() -> None:
    error = decode_error(encode_error(RateLimited("slow down", retry_after=2.5)))
    assert isinstance(error, RecordedError)
    assert error.type_name == "fanwise.errors.RateLimited"
    assert error.text == "slow down. Retry after 2.5 s"
    assert error.fields["retry_after"] == 2.5
    assert decode_error(encode_error(ValueError("x"))).type_name == "ValueError"


def test_the_exit_code_of_a_command_survives_a_long_output() -> None:
    class Result(msgspec.Struct):
        exit_code: int
        stderr: str

    error = CommandFailed(Result(7, "e" * 100_000), "it failed")
    recorded = decode_error(encode_error(error))
    assert recorded.fields["result"]["exit_code"] == 7
    assert len(encode_error(error)) < 20_000


def test_an_error_keeps_its_notes_and_causes() -> None:
    error = ValueError("outer")
    error.add_note("at line 3")
    error.__cause__ = KeyError("inner")
    recorded = decode_error(encode_error(error))
    assert recorded.__notes__ == ["at line 3"]
    assert str(recorded.__cause__) == "KeyError: 'inner'"


def test_an_error_group_keeps_its_members() -> None:
    group = ExceptionGroup("two", [ValueError("a"), AttemptTimeout(3)])
    members = decode_error(encode_error(group)).fields["exceptions"]
    assert members == ["ValueError: a", "fanwise.errors.AttemptTimeout: timed out after 3 s"]


def test_recording_a_recorded_error_again_changes_nothing() -> None:
    error = RateLimited("slow", retry_after=1)
    error.__cause__ = OSError("no")
    once = encode_error(error)
    assert encode_error(decode_error(once)) == once


def test_an_error_that_misbehaves_is_recorded_all_the_same() -> None:
    class Awful(Exception):
        def __init__(self) -> None:
            self.thing = object()
            self.nan = math.nan
            self.bad = "\ud800"
            self.__notes__ = 3  # type: ignore[assignment]

        def __str__(self) -> str:
            raise RuntimeError("no text")

    recorded = decode_error(encode_error(Awful()))
    assert recorded.type_name.endswith("Awful")
    assert "RuntimeError" in recorded.text


@given(any_text, st.dictionaries(any_text, anything, max_size=3))
def test_recording_an_error_never_fails_and_is_bounded(text: str, fields: dict[str, Any]) -> None:
    error = ValueError(text)
    error.__dict__.update(fields)
    encoded = encode_error(error)
    encoded.encode()
    assert decode_error(encoded).type_name == "ValueError"


def test_a_huge_error_is_cut() -> None:
    error = ValueError("x" * 1_000_000)
    error.__cause__ = error
    for i in range(1000):
        error.__dict__[f"field{i}"] = "y" * 10_000
    assert len(encode_error(error)) < 1_000_000


def test_text_that_is_no_recorded_error_still_gives_one() -> None:
    for text in ("", "[]", "{", '{"type": 3}'):
        assert decode_error(text).type_name == "unknown error"


def test_the_fields_of_an_error_that_are_long_share_the_room_and_keep_both_ends() -> None:
    class Tried(Exception):
        def __init__(self) -> None:
            said = f"first{'.' * 5_000}last"
            self.tries = [{"stage": "verify", "said": said, "code": 3}] * 3
            super().__init__("it was tried three times")

    found = decode_error(encode_error(Tried()))
    for each in found.fields["tries"]:
        assert (each["stage"], each["code"]) == ("verify", 3)
        assert each["said"].startswith("first")
        assert each["said"].endswith("last")
    assert len(encode_error(Tried())) < 6_000
