"""The report of a matrix: sections that have nothing to show are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from fanwise.journal.codec import JSON
from fanwise.journal.port import Journal, RunRecord
from fanwise.matrix.cells.cell import NO_MODEL
from fanwise.matrix.state.expectations import Judgement
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.recorded_matrix import read_matrix
from fanwise.matrix.state.versions import versions
from fanwise.matrix.stats.data import axis_values
from fanwise.matrix.stats.summary import GroupSummary, Total, summarize
from fanwise.matrix.views.analysis import Analysis, analyse, document_of, lines_of, pass_tables
from fanwise.matrix.views.cells import cells_data
from fanwise.matrix.views.history import PastVersion, history, score_histories
from fanwise.matrix.views.plots import Lanes, caps_of, latency, read_lanes, timeline
from fanwise.matrix.views.rows import (
    Palette,
    families,
    forests,
    input_map,
    verdict_rows,
)
from fanwise.matrix.views.tables import judges_text, late_lines, usd_text
from fanwise.matrix.views.text import expectation_lines
from fanwise.specs.system import Report
from fanwise.view.formats import duration_text, money
from fanwise.view.geometry import pauses_text, time_axis
from fanwise.view.html import Section, Templates, Tile
from fanwise.view.in_flight import busy_clock
from fanwise.view.run_summary import duration, shown_status


def tiles(found: MatrixState, analysis: Analysis) -> Iterator[Tile]:
    """What people ask for first."""
    whole = analysis.summary.whole
    waiting = len(found.waiting)
    yield Tile("cells", f"{len(found.results) + waiting:,}", _axes(analysis))
    share = f"{whole.failed / whole.n:.1%} of those that ended" if whole.n else ""
    yield Tile("failed", f"{whole.failed:,}", share, bad=whole.failed > 0)
    if waiting:
        settled = len(found.left_out)
        about = f"{settled:,} not needed: settled" if settled else ""
        yield Tile("not run", f"{waiting:,}", about, bad=waiting > settled)
    asked = _without_controls(found)
    yield from _scores(asked, analysis, all_cells=asked.n == whole.n)
    if asked.ran_s.p50 is not None:
        p90 = "" if asked.ran_s.p90 is None else f"p90 {duration_text(asked.ran_s.p90)}"
        yield Tile("median time", duration_text(asked.ran_s.p50), p90)
    calls = sum(each.calls for each in found.results)
    ran = sum(each.ran_s for each in found.results)
    yield Tile("calls", f"{calls:,}", f"{duration(ran)} in all")
    yield Tile("tokens", f"{_many(whole.input_tokens)} / {_many(whole.output_tokens)}", "in / out")
    judges = judges_text(found.results, money)
    about = f"and {judges} for judges" if judges else ""
    yield Tile("dollars", usd_text(whole.usd, money), about)


def _without_controls(found: MatrixState) -> GroupSummary:
    """These have no model, and say nothing of one."""
    cells = [each for each in found.scored if each.axes["model"] != NO_MODEL]
    return summarize(cells or found.scored, by=[], options=found.options).whole


def _scores(asked: GroupSummary, analysis: Analysis, *, all_cells: bool) -> Iterator[Tile]:
    """The mean of each scorer."""
    for name in analysis.scorers:
        score = asked.scores.get(name)
        if score is not None and score.mean.value is not None:
            about = "mean of all" if all_cells else "mean of all but controls"
            if score.unscored:
                about = f"{score.unscored:,} of {score.mean.n + score.unscored:,} missing"
            yield Tile(name, f"{score.mean.value:.3f}", about, bad=score.unscored > 0)


def _axes(analysis: Analysis) -> str:
    names = (("model", "models"), ("strategy", "strategies"), ("input", "inputs"))
    counts = [len({c.axes[axis] for c in analysis.cells} - {NO_MODEL}) for axis, _ in names]
    return ", ".join(
        f"{count:,} {one if count == 1 else several}"
        for count, (one, several) in zip(counts, names, strict=True)
    )


def _many(total: Total) -> str:
    if total.total is None:
        return f"≥ {_short(total.known)}" if total.known else "?"
    return _short(total.total)


def _short(count: float) -> str:
    if count >= 10_000_000:
        return f"{count / 1e6:.0f}M"
    if count >= 1_000_000:
        return f"{count / 1e6:.1f}M"
    return f"{count / 1e3:.0f}k" if count >= 10_000 else f"{count:,.0f}"


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
    lanes = read_lanes(journal, run.id)
    edited = len(versions(journal, run.id)) > 1  # else all cells would be read again, for nothing
    past = history(journal, run.id) if edited else []
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
    if past:
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
    if analysis.verdicts:
        yield section("verdicts", "Verdicts", verdicts=verdict_rows(analysis, palette))
    if analysis.contrasts:
        yield section("paired", "Paired", families=families(analysis, palette))
    if analysis.pass_at_k:
        yield section("pass", "pass@k", tables=pass_tables(analysis.pass_at_k))
    if analysis.scorers:
        yield section("inputs", "Inputs", inputs=input_map(analysis))
    groups = analysis.by("model")
    plot, late = latency(analysis, palette), late_lines(groups)
    yield section("latency", "Latency", plot=plot, groups=groups, late=late)
    if analysis.summary.whole.errors:
        errors = list(analysis.summary.whole.errors.items())[:MOST_ERRORS]
        yield section("errors", "Errors", errors=errors)
