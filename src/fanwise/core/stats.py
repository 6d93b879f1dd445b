"""How fast a fan-out was, compared with what was possible.

For each cap, the work that went through it divided by the cap is a lower bound on the time. No
scheduler can beat the largest of these. Efficiency is that bound divided by the time it took.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

TOTAL = "total"
"""The name under which the fan-out's own `cap` appears in `Stats`."""
CAPS = "caps"
"""The event with the limits that a run began with."""
BUDGET = "budget"
"""The event with the most that a run may spend, by unit."""
CAP = "cap"
"""The event of a limit that moved, or was asked for and refused."""


class Stats(msgspec.Struct, frozen=True):
    """Peak by cap, makespan, lower bound, efficiency."""

    peak: dict[str, int] = msgspec.field(default_factory=dict)
    """The most in flight at once, by cap; `total` is the fan-out's own cap."""
    work_s: dict[str, float] = msgspec.field(default_factory=dict)
    """Seconds of work times permits held, by cap."""
    makespan_s: float = 0.0
    lower_bound_s: float = 0.0

    @property
    def efficiency(self) -> float:
        """Lower bound divided by makespan: 1.0 is perfect; also 1.0 if there was nothing to do."""
        if not self.lower_bound_s or not self.makespan_s:
            return 1.0
        return min(1.0, self.lower_bound_s / self.makespan_s)


def lower_bound(work_s: Mapping[str, float], caps: Mapping[str, float]) -> float:
    """The least time in which this work can go through these caps."""
    return max((work_s[name] / caps[name] for name in work_s if caps.get(name)), default=0.0)


class CombinedStats:
    """The stats of several fan-outs as one, whether they ran one after the other or at once.

    The lower bound is that of the slowest: no scheduler can beat it, even if all ran at once.
    """

    __slots__ = ("_began", "_ended", "_peak", "_work_s", "lower_bound_s")

    def __init__(self) -> None:
        self._began = float("inf")
        self._ended = float("-inf")
        self._peak: dict[str, int] = {}
        self._work_s: dict[str, float] = {}
        self.lower_bound_s = 0.0

    def add(self, stats: Stats, ended: float) -> None:
        """Add a fan-out that ended at this time of the loop."""
        self._began = min(self._began, ended - stats.makespan_s)
        self._ended = max(self._ended, ended)
        self.lower_bound_s = max(self.lower_bound_s, stats.lower_bound_s)
        for name, peak in stats.peak.items():
            self._peak[name] = max(self._peak.get(name, 0), peak)
        for name, work_s in stats.work_s.items():
            self._work_s[name] = self._work_s.get(name, 0.0) + work_s

    @property
    def stats(self) -> Stats:
        makespan_s = max(0.0, self._ended - self._began)
        return Stats(dict(self._peak), dict(self._work_s), makespan_s, self.lower_bound_s)
