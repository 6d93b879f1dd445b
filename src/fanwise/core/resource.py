"""One named cap: how much of it is in use, and when there is more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fanwise.core.rate import Adaptation, Bucket, Pace
from fanwise.core.shared_amounts import SharedBucket
from fanwise.core.shares import Leased
from fanwise.core.turns import Turns

if TYPE_CHECKING:
    from fanwise.core.tickets import Group


class Resource:
    """The state of one cap: permits in use, current limit, rates, and the groups that wait."""

    __slots__ = (
        "adaptation",
        "buckets",
        "in_use",
        "inside",
        "largest",
        "leased",
        "limit",
        "lowered",
        "most",
        "name",
        "pace",
        "paused_until",
        "peak",
        "turns",
        "waiting",
    )

    def __init__(self, name: str, limit: int | None = None) -> None:
        self.name = name
        self.limit = limit
        self.most = limit
        """The most that it ever was: what an item may need."""
        self.lowered = False
        """Whether it was lowered on request: an item may need more than it is now."""
        self.in_use = 0
        self.peak = 0
        self.buckets: list[Bucket] = []
        self.adaptation: Adaptation | None = None
        self.pace: Pace | None = None
        self.paused_until: float | None = None
        self.turns: Turns | None = None
        """Only for an exclusive cap."""
        self.leased: Leased | None = None
        """Only for a shared cap, whose limit is what this process holds of it."""
        self.inside: set[Resource] = set()
        """Caps that somebody waited for while holding this one."""
        self.largest = 1
        """The most permits that a waiting ticket has ever needed of it."""
        self.waiting: dict[Group, None] = {}  # a dict keeps their order: groups take turns

    def fits(self, units: int, tokens: float, now: float) -> bool:
        """Whether this much is available now."""
        if self.leased is not None and now >= self.leased.until:
            return False
        if (
            self.buckets
            or self.paused_until is not None
            or self.adaptation is not None
            or self.lowered
        ):
            return self.wait(units, tokens, now) == 0.0
        return self.limit is None or self.in_use + units <= self.limit

    def wait(self, units: int, tokens: float, now: float) -> float | None:
        """Seconds until this much is available; None: not before a permit comes back."""
        full = self.limit is not None and self.in_use + units > self.limit
        full = full or (self.leased is not None and now >= self.leased.until)
        # If a cap fell below a need, that need is still granted when it is alone.
        if full and not ((self.adaptation or self.lowered) and self.in_use == 0):
            return None
        longest = 0.0
        if self.paused_until is not None:
            longest = max(0.0, self.paused_until - now)
        for bucket in self.buckets:
            longest = max(longest, bucket.wait(bucket.amount(tokens), now))
        return None if longest == math.inf else longest

    def take(self, units: int, tokens: float, now: float) -> None:
        """Take permits and charge the rates."""
        if self.pace is not None:
            self.pace.sent(now, idle=not self.in_use and not self.awaited)
        self.in_use += units
        if self.in_use > self.peak:
            self.peak = self.in_use
        if self.turns is not None:
            self.turns.took(units)
        for bucket in self.buckets:
            bucket.take(bucket.amount(tokens), now)

    @property
    def is_shared(self) -> bool:
        """Whether other processes use it, too: its permits, or a rate of it."""
        return self.leased is not None or any(
            isinstance(bucket, SharedBucket) for bucket in self.buckets
        )

    @property
    def scarce(self) -> bool:
        """Whether its permits may be what somebody waits for, and not something else."""
        if self.limit is None or self.buckets or self.turns or self.adaptation:
            return True
        return self.in_use + self.largest > self.limit

    def hold_back(self, sent_at: float, retry_after: float, now: float) -> None:
        """Pause for as long as the server asks, then go on at the pace that it allows."""
        until = now + retry_after
        self.paused_until = max(self.paused_until or until, until)
        if self.pace is None or until == math.inf:
            return
        unknown = self.pace.bucket is None
        self.pace.refused(sent_at, retry_after, now)
        if unknown and self.pace.bucket is not None:
            self.buckets.append(self.pace.bucket)  # charged like any other rate

    @property
    def wanted(self) -> int:
        """Permits that are in use or waited for."""
        lines = [line for group in self.waiting for line in group.lines.values()]
        waited = [(units, line) for line in lines for need, units in line.needs if need is self]
        waiting = (units for units, line in waited for t in line.tickets if t.state == "waiting")
        return self.in_use + sum(waiting)

    @property
    def awaited(self) -> bool:
        """Whether any ticket waits for it."""
        return any(group.waiting for group in self.waiting)
