"""The report of a workflow: its graph, when what ran, its gates, each step, and each fan-out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fanwise.journal.codec import JSON
from fanwise.journal.port import CallTotals, Journal, RunRecord
from fanwise.specs.system import Report
from fanwise.view.calls import call_detail, dollars
from fanwise.view.flow_chart import flow_chart
from fanwise.view.formats import duration_text
from fanwise.view.geometry import lane, pauses_text, time_axis
from fanwise.view.html import Section, Templates, Tile
from fanwise.view.in_flight import Span, busy_clock, in_flight
from fanwise.view.run_summary import shown_status
from fanwise.view.timeline import Bar, Timeline, TimelineRow
from fanwise.workflow.state.run_state import StepState, WorkflowState, costs_of, read_run
from fanwise.workflow.views.graph import flow_of

MOST_ITEMS = 1_000
"""Rows of a fan-out's table."""
PARTS = 300
CHIPS = {"completed": "good", "failed": "bad", "aborted": "bad", "running": "active",
         "paused": "warn", "interrupted": "warn", "cancelled": "warn"}  # fmt: skip
WRONG = ("failed", "aborted")
FANS = ("fan-out", "map")


class StepRow(NamedTuple):
    """A step, how deep it stands, and the steps inside an item."""

    step: StepState
    depth: int = 0
    inside: Sequence[StepRow] = ()

    @property
    def took(self) -> str:
        return "" if self.step.took is None else duration_text(self.step.took)

    @property
    def said(self) -> str:
        """The first thing to know of it."""
        output = self.step.output
        said = self.step.error or output.get("stdout") or output.get("choice") or ""
        return " ".join(str(said).split())[:200]

    @property
    def texts(self) -> Iterator[tuple[str, str, str]]:
        """Its input, its output and its log: name, text and class of each."""
        step = self.step
        if step.input is not None:
            yield "input", _shown(step.input), ""
        if step.error:
            yield "error", step.error, "error"
        streams = ("stdout", "stderr")
        rest = {key: value for key, value in step.output.items() if key not in streams}
        if rest:
            yield "output", _shown(rest), "answer"
        yield from (
            (name, step.output[name], "answer") for name in streams if step.output.get(name)
        )


class FanOutTable(NamedTuple):
    step: StepState
    items: Sequence[StepRow]
    left_out: int

    @property
    def counts(self) -> str:
        counts = Counter(row.step.status for row in self.items)
        return ", ".join(f"{n:,} {status}" for status, n in counts.items())


def report(journal: Journal, run: RunRecord) -> Report:
    """As the journal has it now; the run may still be going on."""
    spec, state = JSON.decode(run.spec), read_run(journal, run)
    costs = costs_of(journal, run.id)
    templates = Templates("fanwise.workflow.views", CHIPS=CHIPS, costs=costs)
    rows = [*_rows(state, "")]
    tables = [*_tables(state)]
    gates = [step for step in state.steps.values() if step.type == "gate"]
    sections = _sections(templates, spec, state, rows, tables, gates)
    page = templates.report(run, _tiles(state, costs), sections, scripts=("items.js",))
    counts = Counter(row.step.status for row in rows)
    lines = [
        f"{run.name}: {shown_status(run)}; " + ", ".join(f"{n} {s}" for s, n in counts.items()),
        *(f"{row.step.path}: {row.step.status}  {row.took}".rstrip() for row in rows),
    ]
    return Report(page.html(), lines, _document(run, state, costs), page)


def _rows(state: WorkflowState, path: str, depth: int = 0) -> Iterator[StepRow]:
    """The steps that are not in items, those inside a step below it."""
    for step in state.inside.get(path, ()):
        yield StepRow(step, depth)
        if step.type not in FANS:
            yield from _rows(state, step.path, depth + 1)


def _tables(state: WorkflowState) -> Iterator[FanOutTable]:
    for step in state.steps.values():
        if step.type in FANS and (inside := state.inside.get(step.path)):
            items = [StepRow(each, 0, [*_rows(state, each.path)]) for each in inside[:MOST_ITEMS]]
            yield FanOutTable(step, items, len(inside) - len(items))


def _sections(
    templates: Templates,
    spec: Mapping[str, Any],
    state: WorkflowState,
    rows: Sequence[StepRow],
    tables: Sequence[FanOutTable],
    gates: Sequence[StepState],
) -> Iterator[Section]:
    section = templates.section
    yield section("graph", "Graph", chart=flow_chart(flow_of(spec, state)))
    drawn = timeline(state, rows)
    if drawn is not None:
        yield section("timeline", "Timeline", timeline=drawn)
    if gates:
        yield section("gates", "Gates", gates=gates)
    yield section("steps", "Steps", rows=rows)
    if tables:
        yield section("fan-outs", "Fan-outs", tables=tables)
    inputs = [(name, _shown(value)) for name, value in spec["inputs"].items()]
    yield section("file", "File", inputs=inputs, spec=spec, text=_shown(spec["data"]))


def _tiles(state: WorkflowState, costs: Mapping[str, CallTotals]) -> Iterator[Tile]:
    leaves = state.leaves
    counts = Counter(each.status for each in leaves)
    others = ", ".join(f"{n:,} {status}" for status, n in counts.items() if status != "completed")
    yield Tile("steps completed", f"{counts['completed']:,} of {len(leaves):,}", others)
    wrong = sum(counts[each] for each in WRONG)
    if wrong:
        yield Tile("failed", f"{wrong:,}", bad=True)
    worked = sum(each.took or 0.0 for each in leaves)
    yield Tile("work of all", duration_text(worked), "one after another")
    if costs:
        unknown = sum(each.usd.unknown for each in costs.values())
        known = dollars(sum(each.usd.known for each in costs.values()))
        calls = f"{sum(each.attempts for each in costs.values()):,} calls"
        about = f"{calls}, {unknown} of unknown price" if unknown else calls
        yield Tile("dollars", f"at least {known}" if unknown else known, about)


def timeline(state: WorkflowState, rows: Sequence[StepRow]) -> Timeline | None:
    """None: nothing has begun."""
    steps = state.steps.values()
    latest = max((m for each in steps for m in (each.began, each.ended) if m), default=0.0)
    spans = [
        Span(each.began, each.ended or latest, each.status in WRONG)
        for each in state.leaves
        if each.began is not None
    ]
    if not spans:
        return None
    clock = busy_clock(spans)
    flight = in_flight(spans, clock, PARTS)
    ticks, unit = time_axis(max(clock.total, 1e-3))
    line = lane("Steps at work", f"peak {flight.peak} at once", "c0", flight, None)
    drawn = [
        TimelineRow("  " * row.depth + row.step.path, row.step.path, [_bar(row, latest)])
        for row in rows
        if row.step.began is not None
    ]
    return Timeline(drawn, line, clock, ticks, unit, pauses_text(clock))


def _bar(row: StepRow, latest: float) -> Bar:
    step = row.step
    assert step.began is not None
    class_ = "wrong" if step.status in WRONG else "again" if step.type in FANS else "ran"
    return Bar(step.began, step.ended or latest, class_, f"{step.status} {row.took}".strip())


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=1, ensure_ascii=False)


def _document(
    run: RunRecord, state: WorkflowState, costs: Mapping[str, CallTotals]
) -> dict[str, Any]:
    steps = {
        path: {
            **step.to_json(),
            "input": step.input,
            "began": step.began,
            "ended": step.ended,
            **({"calls": call_detail(costs[path])} if path in costs else {}),
        }
        for path, step in state.steps.items()
    }
    return {"run": run.id, "status": shown_status(run), "steps": steps}
