"""Who ran when: how many at once as one line, and each leaf with the time that it waited."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fanwise.plan.recorded import Leaf, Recorded
from fanwise.plan.report.marks import anchor
from fanwise.plan.states import ACTIVE
from fanwise.view.in_flight import BusyClock, Span, busy_clock, in_flight
from fanwise.view.markup import Child, Html, element
from fanwise.view.pieces import duration_text, folded
from fanwise.view.plots.frame import across
from fanwise.view.plots.lane import lane, time_axis
from fanwise.view.run_summary import duration
from fanwise.view.scales import Linear

PARTS = 300
HEIGHT = 12.0
THINNEST = 0.002
"""Of the width: what took no time is seen, too."""
FEW = 60
"""So many rows are shown unfolded."""
UNITS = ((7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))
WAITING = "waiting"
LEGEND = (
    (WAITING, "waited for a workspace, or for those before it"),
    ("ran", "worked"),
    ("again", "once more, on what was merged"),
    ("wrong", "given up"),
    ("step", "merge, check, result"),
)


class Bar(NamedTuple):
    """A part of a row."""

    start: float
    end: float
    class_: str
    about: str


class Row(NamedTuple):
    """A leaf, or a step of the plan as a whole."""

    name: Child
    bars: list[Bar]


def timeline(found: Recorded, cap: int | None) -> Html | None:
    """On one clock, without long pauses; None: nothing has begun."""
    latest = _latest(found)
    rows = [*_leaf_rows(found, latest), *_step_rows(found, latest)]
    worked = [Span(bar.start, bar.end) for row in rows for bar in row.bars if bar.class_ != WAITING]
    if not worked:
        return None
    clock = busy_clock(worked)
    total = max(clock.total, 1e-3)
    _, unit, word = next(each for each in UNITS if total >= each[0])
    axis = time_axis(Linear(0.0, total / unit).ticks(6), f"{word} since the first one began")
    drawn = [_row(row, clock, total) for row in rows]
    gantt = element("div", drawn, class_="gantt", role="list")
    return element(
        "div",
        _lane(found, clock, cap, latest),
        axis,
        folded(f"{len(rows):,} rows", _legend(), gantt, open_=len(rows) <= FEW, class_="fold"),
        element("p", _pauses(clock), class_="small") if clock.pauses else None,
    )


def _latest(found: Recorded) -> float:
    """The last moment that the journal knows of: what has no end goes on until then."""
    spans = [span for leaf in found.leaves.values() for span in leaf.spans]
    known = [moment for span in spans for moment in (span.start, span.end) if moment is not None]
    steps = [m for step in found.joined.steps for m in (step.start, step.end) if m is not None]
    return max([*known, *steps, found.run.ended_at or 0.0, found.run.created_at])


def _leaf_rows(found: Recorded, latest: float) -> Iterator[Row]:
    for leaf in found.leaves.values():
        if leaf.spans:
            name = element("a", leaf.node.title, href=f"#{anchor(leaf.node.id)}")
            yield Row(name, list(_bars(leaf, found, latest)))


def _bars(leaf: Leaf, found: Recorded, latest: float) -> Iterator[Bar]:
    began = leaf.spans[0].start
    could = _could_begin(leaf, found)
    if could is not None and could < began:
        yield Bar(could, began, WAITING, f"waited {duration_text(began - could)}")
    for span in leaf.spans:
        end = latest if span.end is None else span.end
        again = span.key.startswith("again:")
        last = span is leaf.spans[-1]
        wrong = last and leaf.state in ("failed", "given up")
        class_ = "wrong" if wrong else "again" if again else "ran"
        goes_on = ", and goes on" if span.end is None and leaf.state in ACTIVE else ""
        yield Bar(span.start, end, class_, f"{duration_text(end - span.start)}{goes_on}")


def _could_begin(leaf: Leaf, found: Recorded) -> float | None:
    """When the last of those before it had ended, or the run had begun."""
    ends = [
        before.spans[0].end
        for before in map(found.leaves.get, leaf.node.after)
        if before is not None and before.spans
    ]
    return max((end for end in ends if end is not None), default=found.opened_at)


def _step_rows(found: Recorded, latest: float) -> Iterator[Row]:
    for step in found.joined.steps:
        if step.start is not None:
            end = latest if step.end is None else step.end
            class_ = "wrong" if step.error else "step"
            about = duration_text(end - step.start)
            yield Row(
                element("em", step.key.replace(":", " ")), [Bar(step.start, end, class_, about)]
            )


def _row(row: Row, clock: BusyClock, total: float) -> Html:
    told = ", ".join(bar.about for bar in row.bars if bar.class_ != WAITING)
    strip = element(
        "svg", [_bar(bar, clock, total) for bar in row.bars], height=HEIGHT, width="100%",
        class_="strip", role="img", aria_label=told,
    )  # fmt: skip
    name = element("span", row.name, class_="name")
    return element("div", name, strip, class_="row", role="listitem")


def _bar(bar: Bar, clock: BusyClock, total: float) -> Html:
    start, end = clock.at(bar.start) / total, clock.at(bar.end) / total
    return element(
        "rect", element("title", bar.about), x=across(start), y=1,
        width=across(max(end - start, THINNEST)), height=HEIGHT - 2, class_=f"bar {bar.class_}",
    )  # fmt: skip


def _lane(found: Recorded, clock: BusyClock, cap: int | None, latest: float) -> Html:
    spans = [
        Span(span.start, latest if span.end is None else span.end, leaf.state in ("failed",))
        for leaf in found.leaves.values()
        for span in leaf.spans
    ]
    flight = in_flight(spans, clock, PARTS)
    busy = sum(span.end - span.start for span in spans)
    of = f" of {cap}" if cap is not None else ""
    told = f"peak {flight.peak}{of} at once, {busy / max(clock.total, 1e-3):.1f} on average"
    head = element("h3", "Sub-plans at work", " ", element("small", told))
    drawn = lane(flight, "c0", cap=cap, pauses=(), label=f"Sub-plans at work: {told}")
    return element("div", head, drawn)


def _legend() -> Html:
    items = [
        element("li", element("i", class_=f"box bar {class_}", aria_hidden="true"), text)
        for class_, text in LEGEND
    ]
    return element("ul", items, class_="legend")


def _pauses(clock: BusyClock) -> str:
    longest = ", ".join(duration(length) for _, length in clock.pauses[:5])
    return f"Pauses in which nothing ran ({longest}) are left out."
