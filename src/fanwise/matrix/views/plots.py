"""How long cells took, and what ran when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fanwise.core.counts import many
from fanwise.journal.port import Journal
from fanwise.matrix.cells.cell import NO_MODEL
from fanwise.matrix.state.spending import FAN_OUT
from fanwise.matrix.stats.data import Scored
from fanwise.matrix.views.analysis import Analysis
from fanwise.matrix.views.rows import Palette
from fanwise.view.geometry import Lane, Plot, colour, ecdf, lane
from fanwise.view.in_flight import BusyClock, Span, in_flight

PARTS = 300
NO_CAP = "without a cap"

Lanes = dict[str, list[Span]]


def latency(analysis: Analysis, palette: Palette) -> Plot | None:
    """A line for each model; None: no cell took any time."""
    series: dict[str, list[float]] = {class_: [] for class_ in palette.classes}
    for cell in analysis.cells:
        if cell.status == "done" and cell.ran_s > 0 and not cell.cached and _has_model(cell):
            series[palette[cell.axes["model"]]].append(cell.ran_s)
    return ecdf(series) if any(series.values()) else None


def _has_model(cell: Scored) -> bool:
    return cell.axes["model"] != NO_MODEL


# -- the timeline ---------------------------------------------------------------------------------


def read_lanes(journal: Journal, run_id: str) -> Lanes:
    """All attempts of calls whose start is known, by cap; one may hold several caps."""
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
    """The fixed caps of the file, and the most of an adaptive one."""
    found: dict[str, int] = {}
    for name, cap in (spec["data"]["matrix"].get("caps") or {}).items():
        most = cap.get("most") if isinstance(cap, dict) else cap
        if isinstance(most, int):
            found[name] = most
    return found


def timeline(lanes: Lanes, caps: Mapping[str, int], clock: BusyClock) -> Iterator[Lane]:
    """A lane for each cap, in which thousands of calls are one line."""
    total = max(clock.total, 1e-3)
    pauses = [at / total for at, _ in clock.pauses]
    for place, (name, spans) in enumerate(lanes.items()):
        flight, cap = in_flight(spans, clock, PARTS), caps.get(name)
        failed = sum(span.failed for span in spans)
        about = f"{many(len(spans), 'call')}, peak {flight.peak}"
        about += f" of {cap} in flight" if cap is not None else " in flight"
        about += f", {failed:,} failed" if failed else ""
        about += f", {sum(span.end - span.start for span in spans) / total:.1f} on average"
        class_ = colour(None if name == NO_CAP else place)
        yield lane(name, about, class_, flight, cap, pauses)
