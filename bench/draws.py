"""Made-up replies of a language model: how long each takes, and whether it is valid.

Drawn from a seed in the order in which requests come, whoever sends them: so every contender of
a trial meets the same model, and what was possible can be computed.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator

import msgspec

MEDIAN_S = 2.0
SIGMA = 0.6
VALID = 0.3


class Drawn(msgspec.Struct, frozen=True):
    """One reply."""

    seconds: float
    valid: bool


def draws(seed: int) -> Iterator[Drawn]:
    """The replies of a trial, without end."""
    chance = random.Random(seed)
    while True:
        yield Drawn(MEDIAN_S * chance.lognormvariate(0.0, SIGMA), chance.random() < VALID)


def least_seconds(seed: int, width: int) -> float:
    """When the first valid reply has come, if `width` requests are always in flight."""
    replies = draws(seed)
    flying = [(each.seconds, each.valid) for each, _ in zip(replies, range(width), strict=False)]
    heapq.heapify(flying)
    while True:
        at, valid = flying[0]
        if valid:
            return at
        following = next(replies)
        heapq.heapreplace(flying, (at + following.seconds, following.valid))
