"""What type checkers see: `sample(model, prompt, Person)` gives a `Person`."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

import msgspec
import pytest
from pydantic import BaseModel

from fanwise.sampling import SampleResult, matches, sample, sample_sync, schema
from fanwise.sampling.api import SampleOptions
from fanwise.testing import ScriptedModel, virtual_time


class Review(BaseModel):
    stars: int


@dataclass
class Point:
    stars: int


class Row(msgspec.Struct):
    stars: int


class Plain(TypedDict):
    stars: int


MODEL_SAYS = '{"stars": 4}'


def model() -> ScriptedModel:
    return ScriptedModel(lambda _: MODEL_SAYS)


@virtual_time
async def test_the_value_has_the_type_that_was_asked_for() -> None:
    """`assert_type` is for mypy, which checks the tests too; at run time it does nothing."""
    review = await sample(model(), "Rate it.", Review, cap=1)
    assert_type(review, SampleResult[Review])
    assert_type(review.value, Review)
    assert_type(review.require(), SampleResult[Review])
    point = await sample(model(), "Rate it.", Point, cap=1)
    assert_type(point.value, Point)
    row = await sample(model(), "Rate it.", Row, cap=1)
    assert_type(row.value, Row)
    plain = await sample(model(), "Rate it.", Plain, cap=1)
    assert_type(plain.value, Plain)
    assert (review.value, point.value, row.value) == (Review(stars=4), Point(4), Row(4))
    assert plain.value == {"stars": 4}


def test_code_without_an_event_loop_has_the_types_too() -> None:
    result = sample_sync(model(), "Rate it.", Review, cap=1)
    assert_type(result.value, Review)
    assert result.value.stars == 4


def test_the_options_for_type_checkers_are_those_of_the_function() -> None:
    taken = inspect.signature(sample).parameters.values()
    named = {each.name for each in taken if each.kind is each.KEYWORD_ONLY}
    assert named == SampleOptions.__annotations__.keys()


@virtual_time
async def test_other_requirements_leave_the_type_open() -> None:
    several = await sample(model(), "Rate it.", [Review, matches("4")], cap=1)
    assert_type(several.value, Any)
    assert several.value == Review(stars=4)
    mapped = await sample(model(), "Rate it.", schema({"type": "object"}), cap=1)
    assert_type(mapped.value, Any)
    anything: SampleResult = await sample(model(), "Rate it.")
    assert anything.ok


@virtual_time
async def test_a_misspelt_option_is_an_error_for_mypy_and_here() -> None:
    with pytest.raises(TypeError, match="lop_budget"):
        await sample(model(), "Rate it.", Review, lop_budget=2)  # type: ignore[call-overload]
