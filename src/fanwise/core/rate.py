"""Limits that move with time: a token bucket for rates, and the adaptation of a cap.

Both are told the time; neither asks for it.
"""

from __future__ import annotations

import math

# A wake-up is computed from a division and may come a rounding error early.
_EPSILON = 1e-9


class Bucket:
    """A token bucket whose level may go below zero, to be paid back before anyone else goes.

    So a single request larger than the bucket is possible: it waits for a full bucket and leaves
    a debt. With a burst `b` and a refill of `(n - b + 1) / per` (requests) no half-open window of
    `per` seconds sees more than `n` requests.
    """

    __slots__ = ("burst", "counts_tokens", "level", "refill", "seen_at")

    def __init__(self, burst: float, refill: float, *, counts_tokens: bool) -> None:
        self.burst = burst
        self.refill = refill
        self.counts_tokens = counts_tokens
        self.level = burst
        self.seen_at: float | None = None

    @classmethod
    def of_requests(cls, n: float, per: float) -> Bucket:
        """At most `n` requests in `per` seconds."""
        burst = max(1.0, math.floor(n / per))
        return cls(burst, max(n - burst + 1, min(n, 1.0)) / per, counts_tokens=False)

    @classmethod
    def of_tokens(cls, n: float, per: float) -> Bucket:
        """About `n` tokens in `per` seconds; a sixth of them may come at once."""
        burst = n / 6
        return cls(burst, (n - burst) / per, counts_tokens=True)

    def amount(self, tokens: float) -> float:
        """What one request takes from this bucket."""
        return tokens if self.counts_tokens else 1.0

    def wait(self, amount: float, now: float) -> float:
        """Seconds until that much may be taken; 0.0: now."""
        self._fill(now)
        missing = min(amount, self.burst) - self.level
        return 0.0 if missing <= _EPSILON else missing / self.refill

    def take(self, amount: float, now: float) -> None:
        """Take it (or give back: a negative amount, when less was used than expected)."""
        self._fill(now)
        self.level = min(self.burst, self.level - amount)

    def _fill(self, now: float) -> None:
        if self.seen_at is not None and now > self.seen_at:
            self.level = min(self.burst, self.level + (now - self.seen_at) * self.refill)
        self.seen_at = now


class Adaptation:
    """How an adaptive cap moves: doubling until the first refusal, then by small steps.

    Refusals of requests that were sent before the last cut do not cut again: one storm, one cut.
    """

    __slots__ = ("clean", "cut_at", "least", "most", "refused_before")

    def __init__(self, least: int, most: int) -> None:
        self.least = least
        self.most = most
        self.clean = 0
        self.cut_at = -math.inf
        self.refused_before = False

    def refused(self, limit: int, sent_at: float, now: float) -> int:
        """The new limit after a "too many requests"."""
        self.clean = 0
        self.refused_before = True
        if sent_at < self.cut_at:
            return limit
        self.cut_at = now
        return max(self.least, limit // 2)

    def accepted(self, limit: int, *, saturated: bool) -> int:
        """The new limit after a request that went well, while the cap was full or not."""
        if not saturated:
            return limit
        self.clean += 1
        if self.clean < limit:
            return limit
        self.clean = 0
        return min(self.most, limit + 1 if self.refused_before else limit * 2)
