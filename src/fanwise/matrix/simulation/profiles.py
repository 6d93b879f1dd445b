"""How the other side behaves: how long a call takes, how long its answer is, how often it fails.

A latency is its quantile function: a number between 0 and 1 in, seconds out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal, Protocol

import msgspec

from fanwise.core.counts import many
from fanwise.errors import UsageError
from fanwise.specs.model import seconds

FORM = "Write 2s for the same each time, or lognormal:MEDIAN:SIGMA, as in lognormal:2s:0.5"
_NORMAL = NormalDist()

Failure = Literal["refused", "failed"]


Draw = tuple[float, int | None, Failure | None]
"""An attempt: seconds, output tokens (None: as many as expected), and how it fails, if it does.
Refused: a 429. Failed: anything else that is worth a retry."""


class Latency(Protocol):
    """How long a call takes."""

    @property
    def varies(self) -> bool:
        """Whether two calls may differ."""

    def at(self, chance: float) -> tuple[float, int | None]:
        """Seconds, and output tokens if it knows them, at this quantile."""

    def __str__(self) -> str: ...


class Fixed(msgspec.Struct, frozen=True):
    """The same each time."""

    seconds: float
    varies: bool = False

    def at(self, chance: float) -> tuple[float, int | None]:
        return self.seconds, None

    def __str__(self) -> str:
        return f"{self.seconds:g} s"


class Lognormal(msgspec.Struct, frozen=True):
    """Few are much faster than the median, some are much slower: as calls of models are."""

    median_s: float
    sigma: float
    varies: bool = True

    def at(self, chance: float) -> tuple[float, int | None]:
        return self.median_s * math.exp(self.sigma * _NORMAL.inv_cdf(chance)), None

    def __str__(self) -> str:
        return f"lognormal, median {self.median_s:g} s, sigma {self.sigma:g}"


class Observed(msgspec.Struct, frozen=True):
    """One of those that were seen, with the length of its answer."""

    seen: Sequence[tuple[float, int | None]]
    """Sorted; at least one."""
    varies: bool = True

    def at(self, chance: float) -> tuple[float, int | None]:
        return self.seen[int(chance * len(self.seen))]

    def __str__(self) -> str:
        middle, high = (self.at(place)[0] for place in (0.5, 0.95))
        return f"{many(len(self.seen), 'call')} seen, median {middle:.3g} s, p95 {high:.3g} s"


class ModelProfile(msgspec.Struct, frozen=True):
    latency: Latency
    source: str
    """Where it is from: given, learned, assumed."""
    refused: float = 0.0
    failed: float = 0.0
    unhappy: Latency = Fixed(0.1)
    """How long an attempt takes that fails."""

    @property
    def varies(self) -> bool:
        """Whether chance has a part in it."""
        return self.latency.varies or self.refused > 0 or self.failed > 0

    def draw(self, kind: float, place: float) -> Draw:
        """The attempt for two chances between 0 and 1: of how it ends, and of its latency."""
        if kind < self.refused + self.failed:
            return self.unhappy.at(place)[0], 0, "refused" if kind < self.refused else "failed"
        seconds, output = self.latency.at(place)
        return seconds, output, None

    def __str__(self) -> str:
        failures = [
            f", {share:.1%} {what}"
            for share, what in ((self.refused, "refused (429)"), (self.failed, "failed"))
            if share
        ]
        return f"{self.latency}{''.join(failures)} ({self.source})"


def parse(text: str) -> Latency:
    """`2s`, `lognormal:2s:0.5`. `UsageError`."""
    kind, *numbers = text.split(":")
    try:
        if kind == "lognormal" and len(numbers) == 2:
            median, sigma = _seconds(numbers[0]), float(numbers[1])
            if median > 0 and sigma >= 0:
                return Lognormal(median, sigma)
        elif not numbers and _seconds(text) >= 0:
            return Fixed(_seconds(text))
    except ValueError:
        pass
    raise UsageError(f"{text!r} is no latency", FORM)


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float(seconds(text))


ASSUMED: dict[str, Latency] = {
    "local": Lognormal(5.0, 0.4),
    "ollama": Lognormal(5.0, 0.4),
    "replay": Fixed(0.0),
}
"""Of providers that are nothing like the others."""
ANY: Latency = Lognormal(2.0, 0.6)
