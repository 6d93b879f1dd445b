"""The caps of a run: how much of each was in use in the last minutes, and its limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from fanwise.core.stats import CAP, TOTAL
from fanwise.journal.port import EventRecord, FanOutRecord
from fanwise.journal.read_only import RefusesWrites
from fanwise.journal.reads import CallSpan, ItemSpan
from fanwise.view.geometry import Lane, colour, lane
from fanwise.view.in_flight import BusyClock, BusyPeriod, Span, in_flight
from fanwise.view.limits import CapLimit, cap_limits
from fanwise.view.run_summary import duration

WINDOW_S = 900.0
PARTS = 150
MOST_SPANS = 20_000
REFUSED = "RateLimited"


class CapRow(NamedTuple):
    """One cap, and what was in flight under it."""

    name: str
    limit: CapLimit
    lane: Lane


class LeastTime(NamedTuple):
    """No scheduler can be faster: this cap binds."""

    seconds: float
    cap: str
    limit: int


class CapHistory(NamedTuple):
    """All caps of a run over the last minutes."""

    rows: Sequence[CapRow] = ()
    covers: str = ""
    """How long that is."""
    held_s: Mapping[str, float] = {}
    """By cap: for how long an item held a permit of it, on average, or longer."""

    def least(self, items_left: int) -> LeastTime | None:
        """The time that so many items like those take at least; None: not known."""
        found = [
            LeastTime(items_left * self.held_s[cap.name] / cap.limit.now, cap.name, cap.limit.now)
            for cap in self.rows
            if cap.limit.now and self.held_s.get(cap.name)
        ]
        return max(found, default=None)


def cap_history(
    journal: RefusesWrites,
    run_id: str,
    tops: Sequence[FanOutRecord],
    events: Sequence[EventRecord],
    now: float | None,
) -> CapHistory:
    """Items are drawn from their start on, calls when they have ended.

    `now`: or the run's end; None: it was interrupted at a time that nobody recorded.
    """
    limits = cap_limits(events)
    if not limits:
        return CapHistory()
    window = _Window(journal, run_id, tops, now)
    since, until = window.since, window.until
    clock = BusyClock((BusyPeriod(since, max(until, since + 1e-3), 0.0),))
    rows = [
        CapRow(name, limit, _lane(place, name, limit, window.spans.get(name, []), clock, events))
        for place, (name, limit) in enumerate(sorted(limits.items()))
        if limit.now is not None
    ]
    return CapHistory(rows, duration(until - since), window.held_s)


class _Window:
    """What was in flight in the last minutes; if that is too much, in a shorter time."""

    def __init__(
        self,
        journal: RefusesWrites,
        run_id: str,
        tops: Sequence[FanOutRecord],
        now: float | None,
    ) -> None:
        begin = 0.0 if now is None else now - WINDOW_S
        items = [each for top in tops for each in journal.item_spans(top.id, begin, MOST_SPANS)]
        calls = journal.call_spans(run_id, begin, MOST_SPANS)
        ends = [each.end for each in items if each.end is not None]
        ends += [each.end for each in calls]
        if now is None:
            now = max([*ends, *(each.start for each in items)], default=0.0)
        self.until = now
        began = min((each.opened_at for each in tops), default=now)
        self.since = max(began, now - WINDOW_S, *_cuts(items), *_cuts(calls))
        self.spans: dict[str, list[Span]] = {TOTAL: []}
        for item in items:
            self._add(TOTAL, Span(item.start, now if item.end is None else item.end, item.failed))
        for call in calls:
            for name in call.caps.split(","):
                self._add(name, Span(call.start, call.end, REFUSED in (call.error or "")))

    @property
    def held_s(self) -> dict[str, float]:
        """By cap, for each item, at least: of those in flight more calls may be to come."""
        items = self.spans[TOTAL]
        ended = [span for span in items if span.end < self.until]
        if not ended:
            return {}
        held = {name: self._held(spans) / len(items) for name, spans in self.spans.items()}
        return held | {TOTAL: self._held(ended) / len(ended)}

    def _held(self, spans: Sequence[Span]) -> float:
        return sum(span.end - max(span.start, self.since) for span in spans)

    def _add(self, name: str, span: Span) -> None:
        if span.end > self.since:
            self.spans.setdefault(name, []).append(span)


def _cuts(spans: Sequence[ItemSpan] | Sequence[CallSpan]) -> list[float]:
    """If there are more than were read: the time before which some are missing."""
    ends = [each.end for each in spans if each.end is not None]
    return [min(ends)] if len(spans) >= MOST_SPANS and ends else []


def _lane(
    place: int,
    name: str,
    limit: CapLimit,
    spans: Sequence[Span],
    clock: BusyClock,
    events: Sequence[EventRecord],
) -> Lane:
    flight = in_flight(spans, clock, PARTS)
    told = f"at most {flight.peak} at once"
    if refused := sum(flight.failed):
        told += f", {refused} failed" if name == TOTAL else f", {refused} refused (429)"
    return lane(name, told, colour(place), flight, _levels(name, limit, clock, events))


def _levels(
    name: str, limit: CapLimit, clock: BusyClock, events: Sequence[EventRecord]
) -> list[float]:
    """The limit in each part of the time."""
    (period,) = clock.pieces
    width = (period.end - period.start) / PARTS
    moves = [(period.start, limit.began or 0), *_moves(name, events)]
    levels: list[float] = []
    for part in range(PARTS):
        end = period.start + (part + 1) * width
        levels.append([after for at, after in moves if at <= end][-1])
    return levels


def _moves(name: str, events: Sequence[EventRecord]) -> Iterator[tuple[float, int]]:
    for event in events:
        data = msgspec.json.decode(event.data) if event.kind == CAP else {}
        if data.get("name") == name and "after" in data:
            yield event.at, data["after"]
