"""The bootstrap, which needs many random numbers.

It is all that numpy is needed for, so it is imported here, when it is called: it takes longer to
import than `fanwise --help` may. Chance is a seed; each call starts its own generator, so that a
result does not depend on which others were asked for before.

Random numbers come in blocks of `BLOCK`, so that 2,000 resamples of 10,000 units stay small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BLOCK = 1 << 19
"""Random numbers at a time."""


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
