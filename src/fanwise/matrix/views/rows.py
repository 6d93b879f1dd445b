"""Scores, contrasts and pass@k as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from fanwise.matrix.stats.compare import Contrast
from fanwise.matrix.stats.intervals import Estimate, range_text
from fanwise.matrix.stats.sequential import ContrastVerdict
from fanwise.matrix.stats.summary import GroupSummary
from fanwise.matrix.views.analysis import Analysis, p_text, verdict_text
from fanwise.matrix.views.palette import Palette
from fanwise.view.scales import Linear, spanning

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


class PassTable(NamedTuple):
    """pass@k by one scorer: a row for each model and strategy, a column for each k."""

    scorer: str
    ks: list[int]
    rows: Sequence[tuple[str, str, Sequence[Estimate | None]]]


def pass_tables(analysis: Analysis) -> Iterator[PassTable]:
    for scorer, found in groupby(analysis.pass_at_k, key=lambda each: each.scorer):
        by_group: dict[tuple[str, str], dict[int, Estimate]] = {}
        for each in found:
            group = (each.axes["model"], each.axes["strategy"])
            by_group.setdefault(group, {})[each.k] = each.estimate
        ks = sorted({k for by_k in by_group.values() for k in by_k})
        rows = [(*group, [by_k.get(k) for k in ks]) for group, by_k in sorted(by_group.items())]
        yield PassTable(scorer, ks, rows)
