"""What was in flight, counted against a slow and plain way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.view.in_flight import Span, busy_clock, in_flight

SPANS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 9), st.booleans()), min_size=1, max_size=30
).map(lambda found: [Span(1e9 + start, 1e9 + start + length, bad) for start, length, bad in found])


@given(SPANS, st.integers(1, 40))
def test_means_and_peaks_are_those_of_counting_moment_by_moment(
    spans: list[Span], parts: int
) -> None:
    clock = busy_clock(spans)
    flight = in_flight(spans, clock, parts)
    first = min(span.start for span in spans)
    moments = [first + n for n in range(80)]
    levels = [sum(s.start <= m and m + 1 <= s.end for s in spans) for m in moments]
    assert flight.peak == max(levels)
    width = clock.total / parts
    assert sum(flight.mean) * width == pytest.approx(sum(s.end - s.start for s in spans), rel=1e-4)
    assert all(mean <= most + 1e-6 for mean, most in zip(flight.mean, flight.most, strict=True))
    assert sum(flight.failed) == sum(span.failed for span in spans)


def test_a_short_peak_is_not_lost_in_a_long_part() -> None:
    spans = [Span(0, 1000), *(Span(500, 500.001) for _ in range(9))]
    assert in_flight(spans, busy_clock(spans), 3).most == [1, 10, 1]


def test_a_permit_that_is_handed_on_is_not_counted_twice() -> None:
    spans = [Span(0, 1), Span(1, 2), Span(2, 3)]
    assert in_flight(spans, busy_clock(spans), 6).peak == 1


def test_a_night_without_calls_is_cut_out_and_said() -> None:
    night = 9 * 3600
    spans = [Span(100, 160), Span(100 + night, 140 + night)]
    clock = busy_clock(spans)
    assert clock.total == pytest.approx(100)
    assert clock.pauses == [(60, night - 60)]
    assert in_flight(spans, clock, 10).mean == pytest.approx([1.0] * 10)


def test_short_pauses_stay() -> None:
    spans = [Span(0, 10), Span(20, 30)]
    clock = busy_clock(spans)
    assert (clock.total, clock.pauses) == (30, [])
    assert in_flight(spans, clock, 3).most == [1, 0, 1]


def test_calls_that_took_no_time_are_seen() -> None:
    spans = [Span(5, 5), Span(5, 5)]
    assert in_flight(spans, busy_clock(spans), 4).peak == 2
