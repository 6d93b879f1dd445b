"""The two computations that need many random numbers: the bootstrap, and the sign-flip test.

They are all that numpy is needed for, so it is imported here, when they are called: it takes
longer to import than `fanwise --help` may. Chance is a seed; each call starts its own generator,
so that a result does not depend on which others were asked for before.

Random numbers come in blocks of `BLOCK`, so that 2,000 resamples of 10,000 units stay small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BLOCK = 1 << 19
"""Random numbers at a time."""
EXACT_UP_TO = 14
"""With up to so many values, all 2^n sign flips are tried."""


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


class SignFlip(NamedTuple):
    """The p-value of no difference, and the interval of all differences that it does not reject."""

    p: float
    low: float | None
    """None: there are too few values to exclude anything."""
    high: float | None


def sign_flip(values: Sequence[float], flips: int, seed: int, confidence: float) -> SignFlip:
    """A sign-flip test of the mean, and its inversion, so that the two never contradict.

    If the two sides are exchangeable, each difference could as well have had the other sign. For
    up to `EXACT_UP_TO` values all flips are tried; else `flips` random ones, among which the one
    observed counts: (1 + as extreme) / (1 + flips), which is valid for any number of flips (Phipson
    & Smyth 2010), while as extreme / flips can be 0, which no p-value is.

    Flipping some values around a centre gives a sum at least as extreme exactly where the mean of
    those values, or that of the others, is beyond the centre (Hartigan 1969). So the ends of the
    interval are order statistics of these means: no search, and one set of flips for both.
    """
    import numpy as np

    data = np.asarray(values, dtype=np.float64)
    least, most = _partial_means(data, flips, seed)
    tie = 1e-12 * float(abs(data).sum())
    centre = math.fsum(values)
    sides = least <= tie if centre > 0 else most >= -tie
    p = 1.0 if abs(centre) <= tie else float(sides.mean())
    # The least number of flips that does not reject at this level.
    wanted = math.ceil((1 - confidence) * len(least) - 1e-9)
    low, high = np.sort(least)[wanted - 1], np.sort(most)[-wanted]
    if not np.isfinite(low) or not np.isfinite(high):
        return SignFlip(p, None, None)
    # What differs from 0 by rounding only is 0, for the interval as for the p-value.
    return SignFlip(p, *(0.0 if abs(end) <= tie else float(end) for end in (low, high)))


def _partial_means(data: Floats, flips: int, seed: int) -> tuple[Floats, Floats]:
    """For each flip the means of the values that it flips and of the others: the lesser and larger.

    One that flips none or all is as extreme around any centre: it is infinite.
    """
    import numpy as np

    n = len(data)
    exact = n <= EXACT_UP_TO
    rows = max(1, BLOCK // n)
    chance = np.random.default_rng(seed)
    blocks: list[Floats] = [] if exact else [np.array([[-np.inf], [np.inf]])]
    for start in range(0, 1 << n if exact else flips, rows):
        if exact:
            numbers = np.arange(start, min(start + rows, 1 << n))
            flipped = (numbers[:, None] >> np.arange(n) & 1).astype(np.float64)
        else:
            size = (min(rows, flips - start), -(-n // 8))
            coins = chance.integers(0, 256, size=size, dtype=np.uint8)
            flipped = np.unpackbits(coins, axis=1, count=n).astype(np.float64)
        sums, counts = flipped @ data, flipped.sum(axis=1)
        partial = (counts > 0) & (counts < n)
        one = sums / np.where(partial, counts, 1)
        other = (data.sum() - sums) / np.where(partial, n - counts, 1)
        least = np.where(partial, np.minimum(one, other), -np.inf)
        most = np.where(partial, np.maximum(one, other), np.inf)
        blocks.append(np.stack([least, most]))
    found = np.concatenate(blocks, axis=1)
    return found[0], found[1]
