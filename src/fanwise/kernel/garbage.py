"""Fewer garbage collections while many results are gathered.

Python looks for cycles after every 700 new containers, again and again among results that stay:
a fifth of the time of a large matrix. What is kept here has no cycles, so looking less often
costs nothing but a few megabytes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

RARELY = (20_000, 50, 50)


class _Users:
    """Who wants it now: the first sets the thresholds, the last sets them back."""

    count = 0
    before = (0, 0, 0)


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Within this block. A collector that is off, or works even less often, is left as it is."""
    if _Users.count == 0:
        _Users.before = gc.get_threshold()
        if 0 < _Users.before[0] < RARELY[0]:
            gc.set_threshold(*RARELY)
    _Users.count += 1
    try:
        yield
    finally:
        _Users.count -= 1
        if _Users.count == 0 and gc.get_threshold() == RARELY:
            gc.set_threshold(*_Users.before)
