"""What people are told when a matrix has ended."""

from __future__ import annotations

from typing import Any

from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.spending import Spending
from fanwise.matrix.stats.sequential import ContrastVerdict
from fanwise.matrix.views.text import end_of

LARGE = "a difference is larger than the bounds of scores allow"


def verdict(first: str, second: str, **more: Any) -> ContrastVerdict:
    return ContrastVerdict(
        "model", first, second, "stars", None, 1, 9, 9, 0, 3.0, None, None, 0.05, **more
    )


def notes(found: list[ContrastVerdict]) -> list[str]:
    state = MatrixState([], Spending())
    state.verdicts = found
    return list(end_of(state).notes)


def test_why_contrasts_cannot_be_settled_is_told_once_for_each_reason() -> None:
    found = [verdict("a", "b", note=LARGE), verdict("a", "c"), verdict("b", "c", note=LARGE),
             verdict("a", "d", note="no pair has both scores")]  # fmt: skip
    assert notes(found) == [
        f"cannot be settled early: model: a and b (stars) and 1 more: {LARGE}",
        "cannot be settled early: model: a and d (stars): no pair has both scores",
    ]


def test_nothing_is_told_of_contrasts_that_are_only_not_settled_yet() -> None:
    assert notes([verdict("a", "b")]) == []
