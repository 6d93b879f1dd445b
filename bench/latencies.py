"""Made-up calls to five providers: lognormal latencies, as those of language models are.

The items are grouped by provider, as a loop over models and inputs makes them, and the providers
are not equally fast. There are enough items that a single long one at the end does not decide
the result. The seed is fixed: every contender gets the same calls.
"""

from __future__ import annotations

import asyncio
import random

import msgspec

from fanwise import Caps, fan_out

EACH_CAP = 4
MEDIANS_S = {"ada": 1.0, "bob": 0.5, "cyd": 2.0, "dan": 0.8, "eve": 1.3}
SIGMA = 0.6
EACH = 300


class Call(msgspec.Struct, frozen=True):
    """One item: whom to ask, and how long that takes."""

    provider: str
    seconds: float


def calls(scale: float = 1.0) -> list[Call]:
    """`EACH` calls to each provider, grouped; all seconds times `scale`."""
    chance = random.Random(7)
    return [
        Call(provider, scale * median * chance.lognormvariate(0.0, SIGMA))
        for provider, median in MEDIANS_S.items()
        for _ in range(EACH)
    ]


def least_seconds(items: list[Call], each_cap: int, total_cap: int) -> float:
    """No scheduler can be faster: each cap has that much work to let through."""
    work = dict.fromkeys(MEDIANS_S, 0.0)
    for item in items:
        work[item.provider] += item.seconds
    return max(*(s / each_cap for s in work.values()), sum(work.values()) / total_cap)


async def pretend(call: Call) -> None:
    """The call itself."""
    await asyncio.sleep(call.seconds)


async def ours(items: list[Call], total_cap: int) -> float:
    """Seconds that fanwise takes."""
    caps = Caps(**dict.fromkeys(MEDIANS_S, EACH_CAP))
    outcomes = await fan_out(
        pretend, items, cap=total_cap, caps=caps, needs=lambda call: call.provider
    )
    return outcomes.stats.makespan_s
