from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from fanwise.view.times import moment


@given(st.integers(-(10**12), 10**13))
def test_a_moment_is_what_datetime_says(ms: int) -> None:
    at = ms / 1000
    shown = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    assert moment(at) == shown.replace("+00:00", "Z")


def test_no_moment_is_none() -> None:
    assert moment(None) is None
