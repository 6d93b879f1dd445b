"""The two computations that need many random numbers: the bootstrap, and the sign-flip test.

They are all that numpy is needed for, so it is imported here, when they are called: it takes
longer to import than `fanwise --help` may. Chance is a seed; each call starts its own generator,
so that a result does not depend on which others were asked for before.

Random numbers come in blocks of `BLOCK`, so that 2,000 resamples of 10,000 units stay small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BLOCK = 1 << 19
"""Random numbers at a time."""
EXACT_UP_TO = 14
"""With up to so many differences that are not 0, all 2^n sign flips are tried."""


def bootstrap_means(values: Sequence[float], resamples: int, seed: int) -> Floats:
    """The means of samples drawn from `values` with replacement, each as large as `values`."""
    import numpy as np

    data = np.asarray(values, dtype=np.float64)
    chance = np.random.default_rng(seed)
    rows = max(1, BLOCK // len(data))
    means = np.empty(resamples)
    for start in range(0, resamples, rows):
        stop = min(start + rows, resamples)
        drawn = chance.integers(0, len(data), size=(stop - start, len(data)))
        means[start:stop] = data[drawn].mean(axis=1)
    return means


def sign_flip_p(differences: Sequence[float], flips: int, seed: int) -> float:
    """Two-sided p-value of the mean difference: how rare it is when signs are a coin's.

    If the two sides are exchangeable, each difference could as well have had the other sign. For
    up to `EXACT_UP_TO` differences all flips are tried; else `flips` random ones, where the one
    observed counts as one of them: (1 + as extreme) / (1 + flips), which is valid for any number
    of flips (Phipson & Smyth 2010), while as extreme / flips can be 0, which no p-value is.
    """
    import numpy as np

    moved = np.asarray([value for value in differences if value], dtype=np.float64)
    if not len(moved):
        return 1.0
    total = math.fsum(moved)
    # What differs by rounding only is as extreme.
    least = abs(total) - 1e-12 * math.fsum(abs(moved))
    if len(moved) <= EXACT_UP_TO:
        patterns = np.arange(1 << len(moved))[:, None] >> np.arange(len(moved)) & 1
        return int(_extreme(patterns, moved, total, least)) / (1 << len(moved))
    chance = np.random.default_rng(seed)
    rows = max(1, BLOCK // len(moved))
    extreme = 0
    for start in range(0, flips, rows):
        size = (min(rows, flips - start), -(-len(moved) // 8))
        coins = chance.integers(0, 256, size=size, dtype=np.uint8)
        flipped = np.unpackbits(coins, axis=1, count=len(moved))
        extreme += _extreme(flipped, moved, total, least)
    return (1 + extreme) / (1 + flips)


def _extreme(flipped: NDArray[np.integer], moved: Floats, total: float, least: float) -> int:
    """How many of these flips (1: the sign is changed) give a sum of at least that size."""
    sums = total - 2 * (flipped.astype(moved.dtype) @ moved)
    return int((abs(sums) >= least).sum())
