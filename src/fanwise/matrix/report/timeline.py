"""What ran when, by cap: a lane for each, in which thousands of calls are one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fanwise.journal.port import Journal
from fanwise.matrix.spending import FAN_OUT
from fanwise.view.in_flight import BusyClock, Span, busy_clock, in_flight
from fanwise.view.markup import Html, element
from fanwise.view.plots.frame import colour
from fanwise.view.plots.lane import lane, time_axis
from fanwise.view.run_summary import duration
from fanwise.view.scales import Linear

PARTS = 300
NO_CAP = "without a cap"
UNITS = ((7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))

Lanes = dict[str, list[Span]]


def read_lanes(journal: Journal, run_id: str) -> Lanes:
    """All attempts of calls of which it is known when they began; one may hold several caps."""
    lanes: Lanes = {}
    for fan_out in journal.fan_outs(run_id):
        if fan_out.path != FAN_OUT and not fan_out.path.startswith(f"{FAN_OUT}/"):
            continue
        for row in journal.attempts(fan_out.id):
            if row.call is None or row.started_at is None:
                continue
            span = Span(row.started_at, row.started_at + row.ran_s, row.error is not None)
            for cap in (row.caps or NO_CAP).split(","):
                lanes.setdefault(cap, []).append(span)
    return dict(sorted(lanes.items(), key=lambda each: (each[0] == NO_CAP, each[0])))


def caps_of(spec: Mapping[str, Any]) -> dict[str, int]:
    """Fixed caps that the file gives; of one that finds its own height, the most."""
    found: dict[str, int] = {}
    for name, cap in (spec["data"]["matrix"].get("caps") or {}).items():
        most = cap.get("most") if isinstance(cap, dict) else cap
        if isinstance(most, int):
            found[name] = most
    return found


def timeline(lanes: Lanes, caps: Mapping[str, int]) -> Html:
    """The lanes below one another, on one clock."""
    clock = busy_clock(span for spans in lanes.values() for span in spans)
    total = max(clock.total, 1e-3)
    pauses = [at / total for at, _ in clock.pauses]
    drawn = [
        _lane(name, spans, clock, caps.get(name), pauses, place)
        for place, (name, spans) in enumerate(lanes.items())
    ]
    _, unit, word = next(each for each in UNITS if total >= each[0])
    ticks = Linear(0.0, total / unit).ticks(6)
    told = _pauses(clock)
    return element(
        "div",
        drawn,
        time_axis(ticks, f"{word} since the first call"),
        element("p", told, class_="small") if told else None,
    )


def _lane(
    name: str,
    spans: Sequence[Span],
    clock: BusyClock,
    cap: int | None,
    pauses: Sequence[float],
    place: int,
) -> Html:
    flight = in_flight(spans, clock, PARTS)
    failed = sum(span.failed for span in spans)
    of = f" of {cap}" if cap is not None else ""
    told = f"{len(spans):,} calls, peak {flight.peak}{of} in flight"
    told += f", {failed:,} failed" if failed else ""
    busy = sum(span.end - span.start for span in spans)
    told += f", {busy / max(clock.total, 1e-3):.1f} on average"
    class_ = colour(None if name == NO_CAP else place)
    head = element("h3", name, " ", element("small", told))
    drawn = lane(flight, class_, cap=cap, pauses=pauses, label=f"In flight under {name}: {told}")
    return element("div", head, drawn)


def _pauses(clock: BusyClock) -> str:
    if not clock.pauses:
        return ""
    longest = ", ".join(duration(length) for _, length in clock.pauses[:5])
    number = len(clock.pauses)
    told = f"{number} pauses" if number > 1 else "A pause"
    return f"{told} in which nothing ran ({longest}) left out, where the dashed lines are."
