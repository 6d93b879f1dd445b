"""The timeline of the report: how many ran at once, and each leaf with the time that it waited."""

from __future__ import annotations

from collections.abc import Iterator

from fanwise.plan.model.states import ACTIVE
from fanwise.plan.state.plan_state import LeafState
from fanwise.plan.state.read_run import RecordedPlan
from fanwise.view.formats import duration_text
from fanwise.view.geometry import Lane, lane, pauses_text, time_axis
from fanwise.view.in_flight import BusyClock, Span, busy_clock, in_flight
from fanwise.view.timeline import WAITING, Bar, Timeline, TimelineRow

PARTS = 300


def timeline(found: RecordedPlan) -> Timeline | None:
    """None: nothing has begun."""
    latest = _latest(found)
    rows = [*_leaf_rows(found, latest), *_step_rows(found, latest)]
    worked = [Span(bar.start, bar.end) for row in rows for bar in row.bars if bar.class_ != WAITING]
    if not worked:
        return None
    clock = busy_clock(worked)
    ticks, unit = time_axis(max(clock.total, 1e-3))
    return Timeline(rows, _lane(found, clock, latest), clock, ticks, unit, pauses_text(clock))


def _latest(found: RecordedPlan) -> float:
    """The last moment in the journal: what has no end goes on until then."""
    spans = [span for leaf in found.state.leaves for span in leaf.spans]
    known = [moment for span in spans for moment in (span.start, span.end) if moment is not None]
    steps = [m for step in found.steps for m in (step.span.start, step.span.end) if m is not None]
    return max([*known, *steps, found.run.ended_at or 0.0, found.run.created_at])


def _leaf_rows(found: RecordedPlan, latest: float) -> Iterator[TimelineRow]:
    for leaf in found.state.leaves:
        if leaf.spans:
            yield TimelineRow(leaf.node.title, leaf.node.id, list(_bars(leaf, found, latest)))


def _bars(leaf: LeafState, found: RecordedPlan, latest: float) -> Iterator[Bar]:
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


def _could_begin(leaf: LeafState, found: RecordedPlan) -> float | None:
    """When the last of those before it had ended, or the run had begun."""
    ends = [
        before.spans[0].end
        for before in map(found.state.by_id.get, leaf.node.after)
        if before is not None and before.spans
    ]
    return max((end for end in ends if end is not None), default=found.opened_at)


def _step_rows(found: RecordedPlan, latest: float) -> Iterator[TimelineRow]:
    for step in found.steps:
        start, end = step.span.start, latest if step.span.end is None else step.span.end
        bar = Bar(start, end, "wrong" if step.error else "step", duration_text(end - start))
        yield TimelineRow(step.span.key.replace(":", " "), None, [bar])


def _lane(found: RecordedPlan, clock: BusyClock, latest: float) -> Lane:
    spans = [
        Span(span.start, latest if span.end is None else span.end, leaf.state in ("failed",))
        for leaf in found.state.leaves
        for span in leaf.spans
    ]
    flight, cap = in_flight(spans, clock, PARTS), found.split.scorecard.max_parallel
    busy = sum(span.end - span.start for span in spans) / max(clock.total, 1e-3)
    about = f"peak {flight.peak} of {cap} at once, {busy:.1f} on average"
    return lane("Sub-plans at work", about, "c0", flight, cap)
