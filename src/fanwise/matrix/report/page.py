"""The whole report of a matrix: what is there is shown, what is not is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fanwise.journal.codec import JSON
from fanwise.journal.port import Journal, RunRecord
from fanwise.matrix.data import axis_values
from fanwise.matrix.prompts import Prompts
from fanwise.matrix.recorded import Recorded, read_matrix
from fanwise.matrix.report import comparisons, facts, inputs, performance, scores, timeline
from fanwise.matrix.report.analysis import Analysis, analyse, document_of, lines_of
from fanwise.matrix.report.cells import cells_data
from fanwise.matrix.report.palette import Palette
from fanwise.specs.system import Report
from fanwise.view.markup import Html, element, embedded_json
from fanwise.view.page import Section, asset, page
from fanwise.view.pieces import scrolled

SCRIPT = asset("fanwise.matrix.report", "cells.js")


def report(journal: Journal, run: RunRecord) -> Report:
    """As the journal has it now."""
    found = read_matrix(journal, run.id)
    analysis = analyse(found)
    html = _html(found, analysis, timeline.read_lanes(journal, run.id))
    return Report(html, lines_of(found, analysis), document_of(found, analysis))


def _html(found: Recorded, analysis: Analysis, lanes: timeline.Lanes) -> str:
    spec: dict[str, Any] = JSON.decode(found.run.spec)
    palette = Palette(axis_values(analysis.cells, "model"))
    sections = list(_sections(analysis, palette)) if analysis.cells else []
    if lanes:
        drawn = timeline.timeline(lanes, timeline.caps_of(spec))
        sections.append(Section("timeline", "Timeline", drawn, TIMELINE))
    data = cells_data(found, Prompts(spec), palette)
    sections.append(Section("cells", "Cells", _cells(data), CELLS))
    sections.append(Section("environment", "Environment", facts.environment(found)))
    title = f"{found.run.name}: fanwise report"
    return page(title, facts.header(found, analysis), sections, [SCRIPT])


def _sections(analysis: Analysis, palette: Palette) -> Iterator[Section]:
    yield Section("summary", "Summary", scores.summary_table(analysis, palette))
    if analysis.scorers:
        yield Section("scores", "Scores", scores.intervals(analysis, palette), SCORES)
        yield Section("heat", "Heat map", scores.heat_maps(analysis, palette))
    if analysis.contrasts:
        yield Section("paired", "Paired", comparisons.comparisons(analysis, palette), PAIRED)
    if analysis.pass_at_k:
        yield Section("pass", "pass@k", comparisons.pass_table(analysis, palette), PASS)
    if analysis.scorers:
        yield Section("inputs", "Inputs", inputs.inputs_map(analysis, palette), INPUTS)
    yield Section("latency", "Latency", performance.latency(analysis, palette), LATENCY)
    if analysis.scorers:
        yield Section("cost", "Cost", performance.cost(analysis, palette), COST)
    if analysis.summary.whole.errors:
        yield Section("errors", "Errors", _errors(analysis))


def _errors(analysis: Analysis) -> Html:
    rows = [
        element("tr", element("td", f"{count:,}", class_="number"), element("td", text))
        for text, count in list(analysis.summary.whole.errors.items())[:50]
    ]
    head = element("tr", element("th", "cells", scope="col", class_="number"),
                   element("th", "error", scope="col"))  # fmt: skip
    table = element("table", element("caption", "Why cells failed, the most frequent first"),
                    element("thead", head), element("tbody", rows))  # fmt: skip
    return scrolled(table, "Errors")


def _cells(data: dict[str, Any]) -> Html:
    without = element("noscript", element("p", "The list of cells needs JavaScript."))
    return element("div", without, element("div", id="explorer"), embedded_json(data, "cells-data"))


SCORES = """Means over inputs; repeats of one input count as one. Whiskers are 95 % intervals: \
Wilson's for right and wrong with one answer an input, else a bootstrap over inputs."""
PAIRED = """Both sides on the same inputs: what makes an input hard cancels out. P-values are \
McNemar's or of a sign-flip test, corrected (Holm) for all contrasts of one table. A small +n \
counts what could not be paired."""
PASS = "How likely it is that at least one of k repeats is right."
INPUTS = "A row of pale cells is an input on which all fail. Choose a cell to see its answers."
LATENCY = "The kernel's time of calls alone: waiting for a permit and backoff are not in it."
COST = "Up and to the left is better. The line joins those that no other beats in both."
TIMELINE = """Calls in flight under each cap: the mean as an area, the most as a line, the cap \
dashed. Red marks are attempts that failed."""
CELLS = "Every cell with what was asked and answered."
