"""The sentence below the table of a matrix: what is better, and whether that is proven."""

from __future__ import annotations

import msgspec
import pytest

from fanwise.matrix.cells.cell import NO_MODEL
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


def test_failures_come_first_and_missing_pairs_are_said() -> None:
    crashed, unreachable = (
        [msgspec.structs.replace(each, status="failed", scores={"exact": None}, fault=fault)
         if each.key in ("b/0", "b/1", "b/2") else each
         for each in cells(a=12, b=12)]
        for fault in ("strategy", "provider")
    )  # fmt: skip
    (told,) = conclusion(crashed, DEFAULTS)
    assert told == (
        "failed: a 0 of 12, b 3 of 12; a is better than b by 0.25, "
        "not proven: p = 0.083 (exact, 12 inputs)"
    )
    (told,) = conclusion(unreachable, DEFAULTS)
    assert told == (
        "failed: a 0 of 12, b 3 of 12; a and b score the same (exact, 9 inputs; "
        "3 of 12 pairs missing: 3 without a score of b)"
    )


def test_a_control_does_not_take_the_place_of_the_best() -> None:
    known = [
        msgspec.structs.replace(each, axes={**each.axes, "model": NO_MODEL})
        for each in cells(label=12, constant=11)
    ]
    (told,) = conclusion([*cells(a=8, b=4), *known], DEFAULTS)
    corrected = "not proven: p = 0.091"  # as in the report: for the pair of controls too
    assert told == f"a is better than b by 0.33, {corrected} (exact, 12 inputs)"


def test_a_small_difference_is_not_shown_as_none() -> None:
    near = [
        msgspec.structs.replace(each, scores={"exact": 0.5 + 0.004 * each.key.startswith("a")})
        for each in cells(a=12, b=12)
    ]
    assert conclusion(near, DEFAULTS)[0].startswith("a is better than b by 0.004, ")


def test_of_three_the_two_best_are_compared() -> None:
    (told,) = conclusion(cells(worst=1, best=11, second=5), DEFAULTS)
    assert told.startswith("best is better than second by 0.50")


def test_there_is_none_where_nothing_is_compared_or_it_would_take_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert conclusion(cells(a=3), DEFAULTS) == []
    monkeypatch.setattr(module, "MOST_CELLS", 23)
    assert conclusion(cells(a=3, b=4), DEFAULTS) == []
