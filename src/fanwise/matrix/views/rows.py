"""Scores, contrasts and pass@k as rows of tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from fanwise.matrix.cells.cell import NO_MODEL
from fanwise.matrix.stats.compare import Contrast
from fanwise.matrix.stats.data import Scored, mean, natural, score_of
from fanwise.matrix.stats.intervals import Estimate, range_text
from fanwise.matrix.stats.sequential import ContrastVerdict
from fanwise.matrix.stats.summary import GroupSummary
from fanwise.matrix.views.analysis import Analysis, p_text, verdict_text
from fanwise.view.formats import DASH
from fanwise.view.geometry import colour
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
    axes = {"input": name, "model": group[0], "strategy": group[1]}
    title = f"{', '.join(axes.values())}: {len(scores)} scored"
    title += f", {failed} failed" if failed else ""
    return Heat(value, title, mark, {f"data-{axis}": text for axis, text in axes.items()})


NO_MODEL_TEXT = "no model"


class Palette:
    """By the models of a matrix; a cell without one has no colour.

    Names are shown without their parameters (`sim:slow?median_s=4`) as long as that is no other's.
    """

    def __init__(self, models: Iterable[str]) -> None:
        named = [model for model in dict.fromkeys(models) if model != NO_MODEL]
        short = {model: model.partition("?")[0] for model in named}
        counts = Counter(short.values())
        self._texts = {m: text if counts[text] == 1 else m for m, text in short.items()}
        self._classes = {model: colour(place) for place, model in enumerate(named)}

    def __getitem__(self, model: str) -> str:
        return self._classes.get(model, colour(None))

    def text(self, model: str) -> str:
        """As people read it; what is no model (a strategy, say) is as it is."""
        return NO_MODEL_TEXT if model == NO_MODEL else self._texts.get(model, model)

    @property
    def classes(self) -> Iterable[str]:
        return self._classes.values()

    @property
    def legend(self) -> list[tuple[str, str]]:
        return [(self.text(model), class_) for model, class_ in self._classes.items()]


ALPHA = 0.05


class Forest(NamedTuple):
    """The means of one scorer, the best first."""

    scorer: str
    scale: Linear
    means: list[tuple[GroupSummary, Estimate]]


def forests(analysis: Analysis) -> Iterator[Forest]:
    for scorer in analysis.scorers:
        means = [(group, group.scores[scorer].mean) for group in analysis.groups]
        means.sort(key=lambda each: (each[1].value is None, -(each[1].value or 0.0)))
        yield Forest(scorer, score_scale(mean for _, mean in means), means)


def score_scale(means: Iterable[Estimate]) -> Linear:
    """From 0 to 1, or wider if there are such scores."""
    return spanning(_ends(means), at_least=(0.0, 1.0))


def _ends(means: Iterable[Estimate]) -> list[float]:
    return [end for mean in means for end in (mean.value, mean.low, mean.high) if end is not None]


class ContrastRow(NamedTuple):
    contrast: Contrast
    decided: bool
    p: str
    p_holm: str
    reading: str


class Family(NamedTuple):
    """Contrasts that were corrected together: those of one axis and scorer."""

    title: str
    scale: Linear
    rows: list[ContrastRow]


def families(analysis: Analysis, palette: Palette) -> Iterator[Family]:
    """In each, the smallest p-value first."""
    by_family = groupby(analysis.contrasts, key=lambda each: (each.scorer, each.axis))
    for (scorer, axis), found in by_family:
        ordered = sorted(found, key=lambda each: (each.p_holm is None, each.p_holm or 0.0))
        reach = max([0.05, *map(abs, _ends(each.difference for each in ordered))])
        many = "Strategies" if axis == "strategy" else f"{axis.capitalize()}s"
        rows = [_contrast_row(each, palette) for each in ordered]
        yield Family(f"{many} compared by {scorer}", spanning((-reach, reach)), rows)


def _contrast_row(each: Contrast, palette: Palette) -> ContrastRow:
    decided = each.p_holm is not None and each.p_holm < ALPHA
    told = reading(each, palette)
    if each.failures:
        told = f"{each.failures}; {told}"
    return ContrastRow(each, decided, p_text(each.p), p_text(each.p_holm), told)


def reading(each: Contrast, palette: Palette) -> str:
    """A contrast in words, as far as the corrected p-value allows."""
    value = each.difference.value
    if value is None:
        return "nothing to compare"
    if each.p_holm is None:
        return "stopped early: see Verdicts"
    if each.p_holm >= ALPHA or value == 0:
        return "no difference shown"
    return f"{palette.text(each.first if value > 0 else each.second)} is better"


def verdict_rows(
    analysis: Analysis, palette: Palette
) -> list[tuple[ContrastVerdict, str, str, str, str]]:
    """Each with its sides, its interval and its verdict as text."""
    return [
        (
            each,
            palette.text(each.first),
            palette.text(each.second),
            range_text(each.mean, each.low, each.high),
            verdict_text(each),
        )
        for each in analysis.verdicts
    ]
