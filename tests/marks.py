"""What `make test` leaves out, for it has to end within minutes: `make slow` runs it.

A family of slow cases keeps its first ones in `make test`, so that every feature has a test there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

slow = pytest.mark.slow


def slow_after(count: int, values: Iterable[Any]) -> list[Any]:
    """Return values for `parametrize`, of which all but the first `count` are slow."""
    return [each if at < count else _slow(each) for at, each in enumerate(values)]


def slow_unless(quick: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """Return values for `parametrize`, of which all but the `quick` ones are slow."""
    kept = list(quick)
    return [each if each in kept else _slow(each) for each in values]


def _slow(value: Any) -> Any:
    values = value if type(value) is tuple else (value,)  # a named one is one value
    return pytest.param(*values, marks=slow)
