"""Heat maps: models by strategies, and inputs by both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from fanwise.core.counts import many
from fanwise.matrix.stats.data import Scored, axis_values, mean, natural, score_of
from fanwise.matrix.stats.summary import GroupSummary
from fanwise.matrix.views.analysis import Analysis
from fanwise.matrix.views.palette import Palette
from fanwise.matrix.views.rows import score_scale
from fanwise.view.formats import DASH
from fanwise.view.scales import Linear, spanning

MOST = 100
"""Inputs in the map: with more, people want the hard ones, and find the others among the cells."""
MANY_COLUMNS = 8

Group = tuple[str, str]


class Heat(NamedTuple):
    value: float | None
    title: str
    mark: str
    """Shown instead of a value."""
    data: Mapping[str, str]
    """Attributes for the page's script."""


class HeatMap(NamedTuple):
    """A heat map; None is a cell with nothing in it."""

    caption: str
    scale: Linear
    rows: list[tuple[str, list[Heat | None]]]


def score_maps(analysis: Analysis, palette: Palette) -> Iterator[HeatMap]:
    """For each scorer, models down and strategies across."""
    groups = {(g.axes["model"], g.axes["strategy"]): g for g in analysis.groups}
    strategies = axis_values(analysis.cells, "strategy")
    for scorer in analysis.scorers:
        rows = [
            (palette.text(model), [_score_heat(groups.get((model, s)), scorer) for s in strategies])
            for model in axis_values(analysis.cells, "model")
        ]
        scale = score_scale(group.scores[scorer].mean for group in analysis.groups)
        yield HeatMap(f"{scorer}: models by strategies", scale, rows)


def _score_heat(group: GroupSummary | None, scorer: str) -> Heat | None:
    if group is None:
        return None
    value, names = group.scores[scorer].mean.value, (group.axes["model"], group.axes["strategy"])
    return _heat(value, names, many(group.n, "cell"), group.failed, DASH)


class InputMap(NamedTuple):
    """Inputs down, models and strategies across, the hardest input first."""

    map: HeatMap
    models: list[tuple[str, int]]
    """Each with its number of strategies."""
    strategies: list[str]
    """One for each column."""
    many: bool


def input_map(analysis: Analysis) -> InputMap:
    """For the first scorer."""
    scorer = analysis.scorers[0]
    by_input: dict[str, dict[Group, list[Scored]]] = {}
    for cell in analysis.cells:
        group = (cell.axes["model"], cell.axes["strategy"])
        by_input.setdefault(cell.axes["input"], {}).setdefault(group, []).append(cell)
    groups = sorted({group for found in by_input.values() for group in found})
    hardest = sorted(by_input, key=lambda name: (_ease(by_input[name], scorer), natural(name)))
    rows = [
        (name, [_input_heat(name, each, by_input[name].get(each), analysis) for each in groups])
        for name in hardest[:MOST]
    ]
    values = [heat.value for _, row in rows for heat in row if heat and heat.value is not None]
    left = len(hardest) - len(rows)
    which = f"the {len(rows)} hardest of {len(hardest):,} inputs" if left else "the hardest first"
    drawn = HeatMap(f"{scorer} by input, {which}", spanning(values, at_least=(0.0, 1.0)), rows)
    models = [(model, len(list(same))) for model, same in groupby(groups, key=lambda g: g[0])]
    return InputMap(drawn, models, [each for _, each in groups], len(groups) > MANY_COLUMNS)


def _ease(found: Mapping[Group, list[Scored]], scorer: str) -> float:
    """The mean over groups; a failed cell is as hard as a wrong one here."""
    scores = [
        mean([score_of(cell, scorer, 0.0) or 0.0 for cell in cells]) for cells in found.values()
    ]
    return round(mean(scores), 9)


def _input_heat(
    name: str, group: Group, cells: list[Scored] | None, analysis: Analysis
) -> Heat | None:
    if cells is None:
        return None
    found = [score_of(cell, analysis.scorers[0], analysis.failed_as) for cell in cells]
    scores = [score for score in found if score is not None]
    failed = sum(cell.status == "failed" for cell in cells)
    value, mark = mean(scores) if scores else None, "failed" if failed else DASH
    return _heat(value, group, f"{len(scores)} scored", failed, mark, name)


def _heat(
    value: float | None, group: Group, counted: str, failed: int, mark: str, name: str | None = None
) -> Heat:
    axes = {"input": name, "model": group[0], "strategy": group[1]}
    known = {axis: text for axis, text in axes.items() if text is not None}
    title = f"{', '.join(known.values())}: {counted}" + (f", {failed} failed" if failed else "")
    return Heat(value, title, mark, {f"data-{axis}": text for axis, text in known.items()})
