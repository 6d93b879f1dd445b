"""How much was in flight over time: thousands of calls as one line.

A run that was resumed the next day has hours in which nothing happened. They are cut out, and the
plot says so; otherwise all work would be a thin line at each end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

LONG_PAUSE_S = 30.0
LONG_PAUSE = 0.05
"""A pause is cut out if it is longer than `LONG_PAUSE_S` and this share of the busy time."""
SHORTEST_S = 1e-6


class Span(NamedTuple):
    """When something was in flight, in seconds since 1970."""

    start: float
    end: float
    failed: bool = False


class BusyPeriod(NamedTuple):
    """A period without long pauses, and where it begins on the clock that skips pauses."""

    start: float
    end: float
    at: float


class BusyClock(msgspec.Struct, frozen=True):
    """A clock that skips long pauses."""

    pieces: tuple[BusyPeriod, ...]

    @property
    def total(self) -> float:
        last = self.pieces[-1]
        return last.at + last.end - last.start

    @property
    def pauses(self) -> list[tuple[float, float]]:
        """Where pauses were cut out, and how long they were."""
        return [
            (after.at, after.start - before.end)
            for before, after in zip(self.pieces, self.pieces[1:], strict=False)
        ]

    def at(self, moment: float) -> float:
        """A moment on this clock."""
        place = bisect_right(self.pieces, moment, key=lambda piece: piece.start) - 1
        piece = self.pieces[max(0, place)]
        return piece.at + min(max(moment, piece.start), piece.end) - piece.start


def busy_clock(spans: Iterable[Span]) -> BusyClock:
    """The clock of these spans; at least one."""
    merged: list[list[float]] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], span.end)
        else:
            merged.append([span.start, span.end])
    busy = sum(end - start for start, end in merged)
    longest = max(LONG_PAUSE_S, LONG_PAUSE * busy)
    pieces: list[BusyPeriod] = []
    for start, end in merged:
        if pieces and start - pieces[-1].end <= longest:
            pieces[-1] = pieces[-1]._replace(end=end)
        else:
            at = pieces[-1].at + pieces[-1].end - pieces[-1].start if pieces else 0.0
            pieces.append(BusyPeriod(start, end, at))
    return BusyClock(tuple(pieces))


class Flight(msgspec.Struct, frozen=True):
    """What was in flight, in equal parts of the time."""

    mean: list[float]
    most: list[int]
    failed: list[int]
    """How many failed in each part."""

    @property
    def peak(self) -> int:
        """The highest number at any moment."""
        return max(self.most)


def in_flight(spans: Sequence[Span], clock: BusyClock, parts: int) -> Flight:
    """Counted exactly, so that a short peak is not lost between two parts."""
    width = max(clock.total, SHORTEST_S) / parts
    counted = _Counted(parts, width)
    changes = [(clock.at(span.start), 1) for span in spans]
    changes += [(max(clock.at(s.end), clock.at(s.start) + SHORTEST_S), -1) for s in spans]
    for moment, change in sorted(changes):  # at one moment ends come first: a permit is handed on
        counted.change(moment, change)
    failed = [0] * parts
    for span in spans:
        if span.failed:
            failed[counted.part(clock.at(span.end))] += 1
    return Flight([area / width for area in counted.area], counted.most, failed)


class _Counted:
    def __init__(self, parts: int, width: float) -> None:
        self.area = [0.0] * parts
        self.most = [0] * parts
        self._width = width
        self._level = 0
        self._since = 0.0

    def part(self, moment: float) -> int:
        return min(len(self.most) - 1, max(0, int(moment / self._width)))

    def change(self, moment: float, by: int) -> None:
        """From then on so many more are in flight."""
        for part in range(self.part(self._since), self.part(moment) + 1):
            start, end = part * self._width, (part + 1) * self._width
            inside = min(moment, end) - max(self._since, start)
            if inside > 0:
                self.area[part] += self._level * inside
                self.most[part] = max(self.most[part], self._level)
        self._level += by
        self._since = moment
        part = self.part(moment)
        self.most[part] = max(self.most[part], self._level)
