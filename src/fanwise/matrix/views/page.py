"""The report of a matrix: sections that have nothing to show are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from fanwise.journal.codec import JSON
from fanwise.journal.port import Journal, RunRecord
from fanwise.matrix.state.expectations import Judgement
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.recorded_matrix import read_matrix
from fanwise.matrix.stats.data import axis_values
from fanwise.matrix.views.analysis import Analysis, analyse, document_of, lines_of
from fanwise.matrix.views.cells import cells_data
from fanwise.matrix.views.expectations import expectation_lines
from fanwise.matrix.views.header import tiles
from fanwise.matrix.views.heat import input_map, score_maps
from fanwise.matrix.views.history import PastVersion, history, score_histories
from fanwise.matrix.views.palette import Palette
from fanwise.matrix.views.plots import Lanes, caps_of, cost, latency, read_lanes, timeline
from fanwise.matrix.views.rows import families, forests, pass_tables, verdict_rows
from fanwise.matrix.views.tables import late_lines, usd_text
from fanwise.specs.system import Report
from fanwise.view.formats import money
from fanwise.view.geometry import pauses_text, time_axis
from fanwise.view.html import Section, Templates
from fanwise.view.in_flight import busy_clock
from fanwise.view.run_summary import shown_status

MOST_ERRORS = 50


def report(
    journal: Journal,
    run: RunRecord,
    found: MatrixState | None = None,
    judgements: Sequence[Judgement] = (),
) -> Report:
    """As the journal has it now. `found`: its state, if it was read already."""
    found = found or read_matrix(journal, run.id)
    analysis = analyse(found)
    palette = Palette(axis_values(analysis.cells, "model"))
    templates = Templates("fanwise.matrix.views", palette=palette, scorers=analysis.scorers)
    lanes, past = read_lanes(journal, run.id), history(journal, run.id)
    sections = list(_sections(templates, run, found, analysis, palette, lanes, past))
    if judgements:
        sections.insert(0, templates.section("expectations", "Expected", judgements=judgements))
    page = templates.report(run, tiles(found, analysis), sections, scripts=["cells.js"])
    lines = [
        *lines_of(found, analysis),
        *(["", *expectation_lines(judgements)] if judgements else []),
    ]
    expectations = msgspec.to_builtins(judgements)
    document = {**document_of(run, found, analysis), "expectations": expectations}
    return Report(page.html(), lines, document, page)


def _sections(
    templates: Templates,
    run: RunRecord,
    found: MatrixState,
    analysis: Analysis,
    palette: Palette,
    lanes: Lanes,
    past: list[PastVersion],
) -> Iterator[Section]:
    section, spec = templates.section, JSON.decode(run.spec)
    if analysis.cells:
        yield from _results(templates, analysis, palette)
    if len(past) > 1:
        yield section("history", "History", run=run, histories=list(score_histories(past)))
    if lanes:
        clock = busy_clock(span for spans in lanes.values() for span in spans)
        ticks, unit = time_axis(max(clock.total, 1e-3))
        drawn = timeline(lanes, caps_of(spec), clock)
        yield section("timeline", "Timeline", lanes=drawn, ticks=ticks, unit=unit,
                      pauses=pauses_text(clock))  # fmt: skip
    yield section("cells", "Cells", data=cells_data(found, palette))
    environment: dict[str, Any] = found.environment or {}
    yield section("environment", "Environment", run=run, status=shown_status(run),
                  environment=environment, packages=environment.get("packages") or {},
                  git=environment.get("git") or {})  # fmt: skip


def _results(templates: Templates, analysis: Analysis, palette: Palette) -> Iterator[Section]:
    section = templates.section
    yield section(
        "summary", "Summary", groups=analysis.groups, usd_text=partial(usd_text, form=money)
    )
    if analysis.scorers:
        yield section("scores", "Scores", forests=forests(analysis))
        strategies = axis_values(analysis.cells, "strategy")
        yield section("heat", "Heat map", maps=score_maps(analysis, palette), strategies=strategies)
    if analysis.verdicts:
        yield section("verdicts", "Verdicts", verdicts=verdict_rows(analysis, palette))
    if analysis.contrasts:
        yield section("paired", "Paired", families=families(analysis, palette))
    if analysis.pass_at_k:
        yield section("pass", "pass@k", tables=pass_tables(analysis))
    if analysis.scorers:
        yield section("inputs", "Inputs", inputs=input_map(analysis))
    groups = analysis.by("model")
    plot, late = latency(analysis, palette), late_lines(groups)
    yield section("latency", "Latency", plot=plot, groups=groups, late=late)
    if analysis.scorers:
        yield section("cost", "Cost", plots=cost(analysis, palette))
    if analysis.summary.whole.errors:
        errors = list(analysis.summary.whole.errors.items())[:MOST_ERRORS]
        yield section("errors", "Errors", errors=errors)
