"""Limits that change over time: token buckets for rates, adaptive caps, and a learned pace.

The time is always an argument.
"""

from __future__ import annotations

import math

# A wake-up time comes from a division, so it may be early by a rounding error.
_EPSILON = 1e-9
# And an event loop calls timers that are due within its clock's resolution. If a bucket insisted
# on the missing fraction, the same timer would be set and called over and over.
_SOON_S = 1e-7
# Of a short period, such as a second, a second's worth is all: then it would fill up too slowly.
_SHORT_S = 6.0


class Bucket:
    """A token bucket whose level may drop below zero; the debt is paid off before others go.

    So a single request may be larger than the bucket: it waits until the bucket is full and leaves
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
        burst = max(1.0, math.floor(n / max(per, _SHORT_S)))
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
        if missing <= _EPSILON or missing <= _SOON_S * self.refill:
            return 0.0
        return missing / self.refill

    def take(self, amount: float, now: float) -> None:
        """Take this much. A negative amount gives back what was not used."""
        self._fill(now)
        self.level = min(self.burst, self.level - amount)

    def retune(self, burst: float, refill: float, now: float) -> None:
        """Change the rate from now on."""
        self._fill(now)
        self.burst = burst
        self.refill = refill
        self.level = min(burst, self.level)

    def _fill(self, now: float) -> None:
        if self.seen_at is not None and now > self.seen_at:
            self.level = min(self.burst, self.level + (now - self.seen_at) * self.refill)
        self.seen_at = now


class Expectation:
    """How much of their estimates calls really use.

    An estimate is the most that a call may use. That is right for a budget, which must never be
    overspent, but far too much for a rate. A model that may answer with 100,000 tokens mostly
    answers with 300; charged in full, one call would empty the bucket until it ends, and calls
    would run one by one. So a rate is charged with the highest recent usage and corrected when the
    call ends. If answers suddenly get longer, that debt is paid off before other calls go.
    """

    __slots__ = ("_most",)

    def __init__(self) -> None:
        self._most: float | None = None

    @property
    def share(self) -> float:
        """The part of an estimate to charge; 1.0 until something is known."""
        return 1.0 if self._most is None else min(1.0, _MARGIN * self._most)

    def learn(self, estimated: float, used: float) -> None:
        """A call has ended. High usage is forgotten slowly."""
        share = used / estimated
        self._most = share if self._most is None else max(share, self._most * _MEMORY)


_MARGIN = 1.1
_MEMORY = 0.98


class Adaptation:
    """How an adaptive cap moves: it doubles until the first refusal, then grows in small steps.

    Refusals of requests that were sent before the last cut do not cut again, so that a burst of
    refusals halves the cap once.
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
        """The new limit after a success. `saturated`: the cap was full."""
        if not saturated:
            return limit
        self.clean += 1
        if self.clean < limit:
            return limit
        self.clean = 0
        return min(self.most, limit + 1 if self.refused_before else limit * 2)


class Pace:
    """The rate that a server allows, learned from refusals that say how long to wait.

    A cap limits how many requests are in flight, while most providers limit how many arrive per
    second or minute: short calls come too fast even through a cap of one. So the new rate is the
    number of requests that were accepted since the last refusal, divided by the time until the
    end of the wait that the server asks for. Without refusals it grows, in growing steps.

    Rejected: taking `retry_after` alone as the time between two requests. A server that allows five
    a second but rounds to whole seconds would be called once a second.
    """

    __slots__ = ("_clean", "_counted", "_let", "_since", "_step", "_until", "bucket")

    def __init__(self) -> None:
        self.bucket: Bucket | None = None
        """None until the first refusal."""
        self._since: float | None = None
        self._let = 0
        """Requests sent since then and not refused."""
        self._until = -math.inf
        """When the current pause ends. Requests sent before it are older than the last cut."""
        self._counted = (0, 1.0, 0.0)
        """What the last cut was computed from: requests, seconds, and the lowest rate."""
        self._clean = 0
        self._step = _STEP

    @property
    def rate(self) -> float:
        """Requests per second; infinite until the first refusal."""
        return math.inf if self.bucket is None else self.bucket.refill

    def sent(self, now: float, *, idle: bool) -> None:
        """A request is sent. `idle`: none was in flight, and nobody waited."""
        if idle or self._since is None:  # idle time says nothing about what is allowed
            self._since = now
            self._let = 0
        self._let += 1

    def not_let(self) -> None:
        """A request was not sent after all, or was refused without a `retry_after`."""
        self._let = max(0, self._let - 1)

    def refused(self, sent_at: float, retry_after: float, now: float) -> None:
        """Too many requests: slow down to what was accepted so far."""
        until = now + retry_after
        if sent_at < self._until:
            # The last cut counted this one as accepted. Correct it, but do not cut again.
            let, seconds, least = self._counted
            self._set(min(self.rate, self._learn(let - 1, seconds, least)), now)
            self._until = max(self._until, until)
            return
        began = sent_at if self._since is None else min(self._since, sent_at)
        least = 1 / max(retry_after, _SLOWEST_S)
        self._set(min(self.rate * _CUT, self._learn(self._let - 1, until - began, least)), now)
        self._since = self._until = until
        self._let = 0
        self._clean = 0
        self._step = _STEP

    def accepted(self, now: float, *, busy: bool) -> None:
        """A request was accepted. `busy`: others wait."""
        if self.bucket is None or not busy:
            return
        self._clean += 1
        if self._clean == _ROUND:
            self._clean = 0
            self._set(self.rate * (1 + self._step), now)
            self._step = min(1.0, 2 * self._step)

    def _learn(self, let: int, seconds: float, least: float) -> float:
        self._counted = (let, seconds, least)
        return max(max(let, 1) / seconds, least)

    def _set(self, rate: float, now: float) -> None:
        if self.bucket is None:
            self.bucket = Bucket(1.0, rate, counts_tokens=False)
            self.bucket.take(1.0, now)  # the one that was refused
        self.bucket.retune(max(1.0, rate * _BURST_S), rate, now)


_ROUND = 20
"""Successes before a faster pace is tried: few tries mean few refusals."""
_STEP = 0.1
_CUT = 0.9
LONGEST_WAIT_S = 24 * 3600.0
"""The longest `retry_after` to wait for; otherwise a server could stop a run for years."""
_SLOWEST_S = 1.0
"""A pace is never slower than one request in this time, or in `retry_after` if that is longer."""
_BURST_S = 0.1
