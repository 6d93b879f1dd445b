"""How long it took, and what the scores cost in seconds and dollars."""

from __future__ import annotations

from collections.abc import Callable

from fanwise.matrix.report.analysis import Analysis
from fanwise.matrix.report.palette import Palette
from fanwise.matrix.report.scores import swatch
from fanwise.matrix.summary import GroupSummary, Percentiles
from fanwise.view.markup import DASH, Html, element
from fanwise.view.pieces import duration_text, scrolled
from fanwise.view.plots.ecdf import ecdf
from fanwise.view.plots.frame import legend
from fanwise.view.plots.scatter import Point, scatter


def latency(analysis: Analysis, palette: Palette) -> Html:
    """A line for each model, and the percentiles as a table."""
    series: dict[str, list[float]] = {}
    for model, class_ in palette.classes.items():
        series[class_] = [*series.get(class_, ()), *_seconds(analysis, model)]
    drawn = ecdf(
        series,
        x_title="seconds (logarithmic)",
        label="Share of cells that were done within a time, by model; the table has the numbers",
    )
    plot = [legend(palette.legend), drawn] if any(series.values()) else None
    return element("div", plot, _percentiles(analysis, palette))


def _seconds(analysis: Analysis, model: str) -> list[float]:
    return [
        cell.ran_s
        for cell in analysis.cells
        if cell.axes["model"] == model and cell.status == "done" and cell.ran_s > 0
    ]


def _percentiles(analysis: Analysis, palette: Palette) -> Html:
    names = ("model", "done", "p50", "p90", "p99", "first token p50", "p90", "queued", "backoff")
    head = [
        element("th", name, scope="col", class_="number" if place else None)
        for place, name in enumerate(names)
    ]
    rows = [
        element(
            "tr",
            element("th", swatch(palette, group.axes["model"]), scope="row"),
            [element("td", text, class_="number") for text in _times(group)],
        )
        for group in analysis.by("model")
    ]
    table = element(
        "table",
        element("caption", "Seconds of cells that are done, without queue and backoff"),
        element("thead", element("tr", head)),
        element("tbody", rows),
    )
    return scrolled(table, "Latency by model")


def _times(group: GroupSummary) -> list[str]:
    ran, first = group.ran_s, group.first_token_s
    shown = [_shown(each) for each in (ran.p50, ran.p90, ran.p99, first.p50, first.p90)]
    return [f"{ran.n:,}", *shown, _shown(group.queued_s), _shown(group.backoff_s)]


def _shown(seconds: float | None) -> str:
    return DASH if seconds is None else duration_text(seconds)


def cost(analysis: Analysis, palette: Palette) -> Html:
    """The first scorer against dollars and seconds, a dot for each group."""
    plots = [
        ("dollars for 1,000 cells (logarithmic)", _points(analysis, palette, _usd)),
        ("median seconds for a cell (logarithmic)", _points(analysis, palette, _median)),
    ]
    drawn = [
        scatter(points, x_title=title, label=f"{analysis.scorers[0]} against {title}, by group")
        for title, points in plots
        if points
    ]
    return element("div", legend(palette.legend), element("div", drawn, class_="pair"))


def _points(
    analysis: Analysis, palette: Palette, cost_of: Callable[[GroupSummary], float | None]
) -> list[Point]:
    found = []
    for group in analysis.groups:
        mean, spent = group.scores[analysis.scorers[0]].mean, cost_of(group)
        if mean.value is not None and spent:
            found.append(
                Point(group.axes["strategy"], palette[group.axes["model"]], spent, mean.value,
                      mean.low, mean.high)
            )  # fmt: skip
    return found


def _usd(group: GroupSummary) -> float | None:
    return None if group.usd.total is None else 1000 * group.usd.total / group.n


def _median(group: GroupSummary) -> float | None:
    times: Percentiles = group.ran_s
    return times.p50 if group.axes["model"] != "-" else None
