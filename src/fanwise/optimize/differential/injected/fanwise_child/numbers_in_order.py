"""Numbers for one argument, in the order of their size: small ones without a gap, then ever larger.

A formula that is almost right, a table that ends somewhere and a float that is exact for a while
differ at few numbers, and nobody knows at which. In order, because the first one that the original
has not the time for ends it: so it goes as far as the original does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

IN_ORDER = "in order"
_DENSE = 1024
_LARGEST = 62
_BETWEEN = 2
"""Random ones between two powers of two."""


def numbers(value: int | float, rng: random.Random) -> Iterator[int | float]:
    """What to give in the place of a number, with its type."""
    if type(value) is int:
        yield from range(_DENSE)
        for power in range(_DENSE.bit_length() - 1, _LARGEST):
            least = 1 << power
            inside = (rng.randrange(least + 1, 2 * least - 1) for _ in range(_BETWEEN))
            yield from sorted({least - 1, least, least + 1, *inside})
    elif type(value) is float:
        yield from (number / 2 for number in range(-20, 41))
        for power in range(-6, 10):
            for _ in range(_BETWEEN):
                found = rng.uniform(1, 10) * 10.0**power
                yield from (found, -found)
