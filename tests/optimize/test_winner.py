"""The winner is the one that has shown most."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fanwise.optimize.verdict import CandidateVerdict, lower_bound, ranking, winner
from tests.optimize.made import candidate, speed, verdict


def name_of(found: CandidateVerdict | None) -> str | None:
    return None if found is None else found.candidate.name


def test_the_highest_lower_bound_wins_and_not_the_highest_ratio() -> None:
    lucky = verdict("lucky", 1.1, speed=speed(1.1, ratio=3.0, high=9.0))
    sure = verdict("sure", 1.5, speed=speed(1.5, ratio=1.52, high=1.54))
    assert name_of(winner([lucky, sure])) == "sure"


def test_of_a_tie_the_smaller_diff_wins_and_then_the_first() -> None:
    long = verdict("long", 1.523, diff_lines=40)
    short = verdict("short", 1.518, diff_lines=4)
    twin = verdict("twin", 1.52, diff_lines=4)
    assert name_of(winner([long, short, twin])) == "short"
    assert name_of(winner([twin, long, short])) == "twin"
    more = verdict("more", 1.53, diff_lines=400)
    assert name_of(winner([short, more])) == "more", "no tie: its bound is higher"


def test_digits_count_and_not_decimals() -> None:
    one, other = verdict("one", 152.4, diff_lines=9), verdict("other", 151.6, diff_lines=1)
    assert lower_bound(one) == lower_bound(other) == 152.0
    assert name_of(winner([one, other])) == "other"


def test_nothing_wins_that_was_not_accepted_or_not_measured() -> None:
    rejected = verdict("rejected", 9.0, status="rejected")
    undecided = verdict("undecided", 9.0, status="undecided")
    same = verdict("same", 9.0, status="same", same_as="x")
    unmeasured = verdict("unmeasured", 9.0, speed=None)
    nonsense = verdict("nonsense", math.nan)
    assert winner([rejected, undecided, same, unmeasured, nonsense]) is None
    assert winner([]) is None
    assert name_of(winner([nonsense, verdict("real", 1.1)])) == "real"


made: Any = st.lists(
    st.tuples(st.sampled_from([1.05, 1.051, 1.2, 2.0, 2.004]), st.integers(0, 3), st.booleans()),
    max_size=8,
)


@given(made)
def test_nobody_beats_the_winner(rows: list[tuple[float, int, bool]]) -> None:
    verdicts = [
        verdict("", low, diff_lines=lines, status="accepted" if ok else "rejected",
                candidate=candidate(str(place)))
        for place, (low, lines, ok) in enumerate(rows)
    ]  # fmt: skip
    ranked = ranking(verdicts)
    accepted = [each for each in verdicts if each.status == "accepted"]
    assert accepted == sorted(ranked, key=verdicts.index)
    for better, worse in pairwise(ranked):
        one, other = lower_bound(better), lower_bound(worse)
        assert one >= other
        if one == other:
            assert better.diff_lines <= worse.diff_lines
            if better.diff_lines == worse.diff_lines:
                assert verdicts.index(better) < verdicts.index(worse)
