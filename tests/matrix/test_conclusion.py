"""The sentence below the table of a matrix: what is better, and whether that is proven."""

from __future__ import annotations

import pytest

from fanwise.matrix.stats.data import DEFAULTS, Scored
from fanwise.matrix.views import conclusion as module
from fanwise.matrix.views.conclusion import conclusion


def cells(**right: int) -> list[Scored]:
    """Twelve inputs for each strategy, of which it has the first so many right."""
    return [
        Scored(
            key=f"{strategy}/{n}",
            axes={"model": "m", "strategy": strategy, "input": str(n), "repeat": "0"},
            status="done",
            scores={"exact": float(n < count)},
        )
        for strategy, count in right.items()
        for n in range(12)
    ]


@pytest.mark.parametrize(
    ("right", "told"),
    [
        ({"a": 12, "b": 0}, "a is better than b by 1.00, proven: p < 0.001 (exact, 12 inputs)"),
        ({"a": 0, "b": 12}, "b is better than a by 1.00, proven: p < 0.001 (exact, 12 inputs)"),
        ({"a": 7, "b": 6}, "a is better than b by 0.08, not proven: p = 0.317 (exact, 12 inputs)"),
        ({"a": 6, "b": 6}, "a and b score the same (exact, 12 inputs)"),
    ],
)
def test_the_sentence_says_by_how_much_and_whether_it_is_proven(
    right: dict[str, int], told: str
) -> None:
    assert conclusion(cells(**right), DEFAULTS) == [told]


def test_of_three_the_two_best_are_compared() -> None:
    (told,) = conclusion(cells(worst=1, best=11, second=5), DEFAULTS)
    assert told.startswith("best is better than second by 0.50")


def test_there_is_none_where_nothing_is_compared_or_it_would_take_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert conclusion(cells(a=3), DEFAULTS) == []
    monkeypatch.setattr(module, "MOST_CELLS", 23)
    assert conclusion(cells(a=3, b=4), DEFAULTS) == []
