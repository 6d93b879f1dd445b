"""The collector works less often while results are gathered, and as before afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from fanwise.kernel.garbage import RARELY, fewer_collections


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_two_at_once_leave_it_as_it_was_whoever_ends_first() -> None:
    gc.set_threshold(700, 10, 10)
    one, two = fewer_collections(), fewer_collections()
    one.__enter__()
    two.__enter__()
    assert gc.get_threshold() == RARELY
    one.__exit__(None, None, None)
    assert gc.get_threshold() == RARELY
    two.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("chosen", [(0, 10, 10), (50_000, 10, 10)])
def test_who_collects_less_often_or_never_is_left_alone(chosen: tuple[int, int, int]) -> None:
    gc.set_threshold(*chosen)
    with fewer_collections():
        assert gc.get_threshold() == chosen
    assert gc.get_threshold() == chosen


def test_what_is_set_meanwhile_stays() -> None:
    gc.set_threshold(700, 10, 10)
    with fewer_collections():
        gc.set_threshold(300, 5, 5)
    assert gc.get_threshold() == (300, 5, 5)
