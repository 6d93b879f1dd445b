"""Scores: the summary table, intervals side by side, and heat maps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fanwise.matrix.data import axis_values
from fanwise.matrix.intervals import Estimate
from fanwise.matrix.report.analysis import Analysis
from fanwise.matrix.report.facts import money
from fanwise.matrix.report.palette import Palette
from fanwise.matrix.summary import GroupSummary
from fanwise.view.heat_table import Heat, heat_table
from fanwise.view.markup import DASH, Child, Html, element
from fanwise.view.pieces import duration_text, scrolled
from fanwise.view.plots.whiskers import axis, whisker
from fanwise.view.scales import Linear, spanning


def summary_table(analysis: Analysis, palette: Palette) -> Html:
    """A row for each model and strategy, with all that was measured."""
    head = [
        element("th", "model", scope="col"), element("th", "strategy", scope="col"),
        _number_head("cells"), _number_head("failed"),
        *(_number_head(name) for name in analysis.scorers),
        _number_head("p50"), _number_head("p90"), _number_head("first token"),
        _number_head("dollars"), _number_head("$ / pass"),
    ]  # fmt: skip
    body = [_summary_row(group, analysis.scorers, palette) for group in analysis.groups]
    return scrolled(
        element(
            "table",
            element("caption", "All models and strategies, with 95 % intervals"),
            element("thead", element("tr", head)),
            element("tbody", body),
        ),
        "Summary table",
    )


def _number_head(name: str) -> Html:
    return element("th", name, scope="col", class_="number")


def _summary_row(group: GroupSummary, scorers: Sequence[str], palette: Palette) -> Html:
    per_pass = group.scores[scorers[0]].usd_per_pass if scorers else None
    usd = group.usd.total
    numbers: list[Child] = [
        f"{group.n:,}",
        element("span", f"{group.failed:,}", class_="bad") if group.failed else "0",
        *(interval(group.scores[name].mean) for name in scorers),
        _time(group.ran_s.p50), _time(group.ran_s.p90), _time(group.first_token_s.p50),
        "unknown" if usd is None else money(usd),
        DASH if per_pass is None else money(per_pass),
    ]  # fmt: skip
    named = [
        element("th", swatch(palette, group.axes["model"]), scope="row"),
        element("td", group.axes["strategy"]),
    ]
    return element("tr", named, [element("td", each, class_="number") for each in numbers])


def swatch(palette: Palette, model: str) -> Html:
    """A model's name with its colour before it."""
    dot = element("i", class_=f"swatch {palette[model]}", aria_hidden="true")
    return element("span", dot, palette.text(model), class_="model", title=model)


def _time(seconds: float | None) -> str:
    return DASH if seconds is None else duration_text(seconds)


def interval(mean: Estimate) -> Child:
    """The value, and its interval in small."""
    if mean.value is None:
        return element("span", DASH, title=mean.note or None)
    if mean.low is None or mean.high is None:
        return element("span", f"{mean.value:.3f}", title=mean.note or None)
    ends = element("small", f" {mean.low:.2f} {DASH} {mean.high:.2f}")
    return element("span", f"{mean.value:.3f}", ends, title=mean.note or None)


def intervals(analysis: Analysis, palette: Palette) -> Html:
    """A dot and a whisker for each group, the best first, for each scorer."""
    return element("div", [_forest(analysis, name, palette) for name in analysis.scorers])


def _forest(analysis: Analysis, scorer: str, palette: Palette) -> Html:
    means = [(group, group.scores[scorer].mean) for group in analysis.groups]
    scale = score_scale(mean for _, mean in means)
    ordered = sorted(means, key=lambda each: (each[1].value is None, -(each[1].value or 0.0)))
    rows = [
        element(
            "tr",
            element("th", swatch(palette, group.axes["model"]), " ",
                    element("span", group.axes["strategy"], class_="strategy"), scope="row"),
            element("td", whisker(scale, mean.value, mean.low, mean.high,
                                  palette[group.axes["model"]]), class_="wide"),
            element("td", interval(mean), class_="number"),
        )
        for group, mean in ordered
    ]  # fmt: skip
    foot = element("tr", element("td"), element("td", axis(scale), class_="wide"), element("td"))
    columns = [element("th", name, scope="col", class_=class_) for name, class_ in
               (("model and strategy", None), ("mean with 95 % interval", "wide"),
                (scorer, "number"))]  # fmt: skip
    table = element(
        "table",
        element("caption", f"Scores by {scorer}, the best first"),
        element("thead", element("tr", columns)),
        element("tbody", rows),
        element("tfoot", foot),
        class_="forest",
    )
    return scrolled(table, f"Scores by {scorer}")


def score_scale(means: Iterable[Estimate]) -> Linear:
    """From 0 to 1, or wider if there are such scores."""
    ends = [end for mean in means for end in (mean.value, mean.low, mean.high) if end is not None]
    return spanning(ends, at_least=(0.0, 1.0))


def heat_maps(analysis: Analysis, palette: Palette) -> Html:
    """Models down, strategies across, for each scorer."""
    return element(
        "div", [_heat_map(analysis, name, palette) for name in analysis.scorers], class_="maps"
    )


def _heat_map(analysis: Analysis, scorer: str, palette: Palette) -> Html:
    strategies = axis_values(analysis.cells, "strategy")
    found = {(g.axes["model"], g.axes["strategy"]): g for g in analysis.groups}
    rows = []
    for model in axis_values(analysis.cells, "model"):
        groups = [found.get((model, strategy)) for strategy in strategies]
        heats = [None if group is None else _heat(group, scorer) for group in groups]
        rows.append((palette.text(model), heats))
    head = element("tr", element("td"), [element("th", s, scope="col") for s in strategies])
    scale = score_scale(group.scores[scorer].mean for group in analysis.groups)
    return heat_table(head, rows, scale, caption=f"{scorer}: models by strategies")


def _heat(group: GroupSummary, scorer: str) -> Heat:
    score = group.scores[scorer]
    title = f"{group.axes['model']}, {group.axes['strategy']}: {group.n} cells"
    title += f", {group.failed} failed" if group.failed else ""
    data = {"model": group.axes["model"], "strategy": group.axes["strategy"]}
    return Heat(score.mean.value, title, DASH, data)
