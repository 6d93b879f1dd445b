"""How fast runs go, by what the view saw of them: the journal has no history of its counts."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from typing import NamedTuple

from fanwise.view.run_summary import Summary

WINDOW_S = 60.0
MOST_RUNS = 200
"""For how many runs samples are kept: a view stays open for days."""


class EndedBy(NamedTuple):
    """How much had ended at a time."""

    at: float
    ended: int


class RunPace(NamedTuple):
    """How fast a run goes. None: not known."""

    rate: float | None = None
    """In a second, in the unit that its users count, over the last minute."""
    left_s: float | None = None
    """How long the rest takes at this rate."""


class Samples:
    """The last minute of the runs that somebody looks at."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, deque[EndedBy]] = OrderedDict()

    def pace(self, summary: Summary) -> RunPace:
        """Of a run that was just counted."""
        if summary["status"] != "running":
            return RunPace()
        ended, total = summary["done"] + summary["failed"], summary["total"]
        self.add(summary["id"], time.monotonic(), ended)
        rate = self.rate(summary["id"])
        left = None if not rate or total is None else max(0, total - ended) / rate
        return RunPace(rate, left)

    def add(self, run_id: str, at: float, ended: int) -> None:
        """Note what was just counted."""
        kept = self._runs.setdefault(run_id, deque())
        self._runs.move_to_end(run_id)
        if len(self._runs) > MOST_RUNS:
            self._runs.popitem(last=False)
        if not kept or at > kept[-1].at:
            kept.append(EndedBy(at, ended))
        while kept[0].at < at - WINDOW_S:
            kept.popleft()

    def rate(self, run_id: str) -> float | None:
        """What ended in a second; None: it was not seen for long enough to say."""
        kept = self._runs.get(run_id)
        if not kept or kept[-1].at - kept[0].at < 1:
            return None
        return max(0, kept[-1].ended - kept[0].ended) / (kept[-1].at - kept[0].at)
