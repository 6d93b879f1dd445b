"""Which inputs are hard: inputs down, models and strategies across, the hardest first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from fanwise.matrix.data import Scored, mean, natural, score_of
from fanwise.matrix.report.analysis import Analysis
from fanwise.matrix.report.palette import Palette
from fanwise.view.heat_table import Heat, heat_table
from fanwise.view.markup import DASH, Html, element
from fanwise.view.scales import spanning

MOST = 100
"""Inputs in the map: who has more wants the hard ones, and finds the others among the cells."""
MANY_COLUMNS = 8

Group = tuple[str, str]


def inputs_map(analysis: Analysis, palette: Palette) -> Html:
    """For the first scorer."""
    scorer = analysis.scorers[0]
    by_input: dict[str, dict[Group, list[Scored]]] = {}
    for cell in analysis.cells:
        group = (cell.axes["model"], cell.axes["strategy"])
        by_input.setdefault(cell.axes["input"], {}).setdefault(group, []).append(cell)
    groups = sorted({group for found in by_input.values() for group in found})
    hardest = sorted(by_input, key=lambda name: (_ease(by_input[name], scorer), natural(name)))
    rows = [
        (name, [_heat(name, group, by_input[name].get(group), scorer) for group in groups])
        for name in hardest[:MOST]
    ]
    values = [heat.value for _, row in rows for heat in row if heat and heat.value is not None]
    left = len(hardest) - len(rows)
    told = f"the {len(rows)} hardest of {len(hardest):,} inputs" if left else "the hardest first"
    return heat_table(
        _head(groups, palette),
        rows,
        spanning(values, at_least=(0.0, 1.0)),
        caption=f"{scorer} by input, {told}",
        class_="many" if len(groups) > MANY_COLUMNS else "",
    )


def _head(groups: Sequence[Group], palette: Palette) -> list[Html]:
    models = [(model, len(list(same))) for model, same in groupby(groups, key=lambda g: g[0])]
    first = [
        element("th", palette.text(model), scope="colgroup", colspan=count, title=model)
        for model, count in models
    ]
    second = [element("th", element("span", strategy), scope="col") for _, strategy in groups]
    return [
        element("tr", element("td", rowspan=2), first),
        element("tr", second, class_="strategies"),
    ]


def _ease(found: dict[Group, list[Scored]], scorer: str) -> float:
    """The mean over groups; a failed cell is as hard as a wrong one here."""
    scores = [
        mean([score_of(cell, scorer, 0.0) or 0.0 for cell in cells]) for cells in found.values()
    ]
    return round(mean(scores), 9)


def _heat(name: str, group: Group, cells: list[Scored] | None, scorer: str) -> Heat | None:
    if cells is None:
        return None
    scores = [score for cell in cells if (score := score_of(cell, scorer)) is not None]
    failed = sum(cell.status == "failed" for cell in cells)
    title = f"{name}, {group[0]}, {group[1]}: {len(scores)} scored"
    title += f", {failed} failed" if failed else ""
    data = {"input": name, "model": group[0], "strategy": group[1]}
    return Heat(mean(scores) if scores else None, title, "failed" if failed else DASH, data)
