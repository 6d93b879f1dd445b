"""Places and ticks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.view.scales import Linear, Log, spanning, spanning_log

VALUES = st.floats(-1e6, 1e6, allow_subnormal=False)
ABOVE = st.floats(1e-6, 1e6)


@given(st.lists(VALUES, min_size=1, max_size=9), VALUES)
def test_every_value_has_a_place_and_order_is_kept(values: list[float], other: float) -> None:
    scale = spanning(values)
    places = [scale.place(value) for value in sorted([*values, other])]
    assert places == sorted(places) and all(0 <= place <= 1 for place in places)


@given(st.lists(ABOVE, min_size=1, max_size=9))
def test_a_logarithmic_scale_too(values: list[float]) -> None:
    scale = spanning_log(values)
    places = [scale.place(value) for value in sorted(values)]
    assert places == sorted(places) and all(0 < place < 1 for place in places)
    assert len(scale.ticks()) <= 14


@pytest.mark.parametrize(
    ("scale", "texts"),
    [
        (Linear(0, 1), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (Linear(-0.07, 0.07), ["-0.05", "0.00", "0.05"]),
        (Linear(0, 1234), ["0", "500", "1,000"]),
        (Log(0.09, 1.1), ["0.1", "0.2", "0.5", "1"]),
        (Log(0.001, 150), ["0.001", "0.01", "0.1", "1", "10", "100"]),
    ],
)
def test_ticks_are_at_round_values(scale: Linear | Log, texts: list[str]) -> None:
    ticks = scale.ticks()
    assert [text for _, text in ticks] == texts
    for place, text in ticks:
        assert place == pytest.approx(scale.place(float(text.replace(",", ""))))


def test_nothing_and_one_value_have_a_scale() -> None:
    assert spanning([]).place(0.5) == 0.5
    assert spanning([3.0]).place(3.0) == 0.5
    assert spanning_log([]).ticks() and spanning_log([2.0]).place(2.0) == pytest.approx(0.5)
