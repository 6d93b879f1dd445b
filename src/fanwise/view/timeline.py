"""Who ran when: rows of bars under one line of how many ran at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fanwise.view.geometry import Lane
from fanwise.view.in_flight import BusyClock
from fanwise.view.scales import Tick

THINNEST = 0.002
"""Of the width, so that what took no time is seen too."""
FEW = 60
"""So many rows are shown unfolded."""
WAITING = "waiting"


class Bar(NamedTuple):
    """A part of a row, in seconds since 1970."""

    start: float
    end: float
    class_: str
    about: str


class TimelineRow(NamedTuple):
    """What a row is about, where its details are, and its bars."""

    name: str
    anchor: str | None
    bars: Sequence[Bar]

    @property
    def about(self) -> str:
        return ", ".join(bar.about for bar in self.bars if bar.class_ != WAITING)


class Timeline(NamedTuple):
    """On one clock, without long pauses."""

    rows: Sequence[TimelineRow]
    lane: Lane
    clock: BusyClock
    ticks: Sequence[Tick]
    unit: str
    pauses: str

    @property
    def open(self) -> bool:
        """Whether the rows are unfolded."""
        return len(self.rows) <= FEW

    def bars(self, row: TimelineRow) -> Iterator[tuple[float, float, str, str]]:
        """Where each begins and how wide it is, from 0 to 1, with its class and its title."""
        total = max(self.clock.total, 1e-3)
        for bar in row.bars:
            start, end = self.clock.at(bar.start) / total, self.clock.at(bar.end) / total
            yield start, max(end - start, THINNEST), f"bar {bar.class_}", bar.about
