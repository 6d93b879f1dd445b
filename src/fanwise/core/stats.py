"""What a fan-out achieved against what was possible.

The lower bound on the time is, for each cap, the work that went through it divided by the cap;
the largest of these is a time that no scheduler can beat. Efficiency is that bound over the
time it took.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

TOTAL = "total"
"""The name under which the fan-out's own `cap` appears in `Stats`."""


class Stats(msgspec.Struct, frozen=True):
    """Peak by cap, makespan, lower bound, efficiency."""

    peak: dict[str, int] = msgspec.field(default_factory=dict)
    """Most in flight at once, by cap; `total` is the fan-out's own cap."""
    work_s: dict[str, float] = msgspec.field(default_factory=dict)
    """Seconds of work times the units held, by cap."""
    makespan_s: float = 0.0
    lower_bound_s: float = 0.0

    @property
    def efficiency(self) -> float:
        """Lower bound over makespan: 1.0 is perfect, also where there was nothing to do."""
        if not self.lower_bound_s or not self.makespan_s:
            return 1.0
        return min(1.0, self.lower_bound_s / self.makespan_s)


def lower_bound(work_s: Mapping[str, float], caps: Mapping[str, float]) -> float:
    """The least time in which this work can go through these caps."""
    return max((work_s[name] / caps[name] for name in work_s if caps.get(name)), default=0.0)
