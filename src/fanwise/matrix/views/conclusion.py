"""What a matrix showed, as a sentence for each axis: the best value against the next best."""

from __future__ import annotations

from collections.abc import Sequence

from fanwise.core.counts import many
from fanwise.matrix.stats.compare import Contrast, compare
from fanwise.matrix.stats.data import AnalysisOptions, Scored, compared_axes, scorer_names
from fanwise.matrix.stats.sequential import ALPHA
from fanwise.matrix.views.analysis import p_text

MOST_CELLS = 20_000
"""With more, comparing takes seconds that nobody asked for: `fanwise report` does it."""


def conclusion(cells: Sequence[Scored], options: AnalysisOptions) -> list[str]:
    """Nothing where there is nothing to compare, or where it would take long."""
    if len(cells) > MOST_CELLS:
        return []
    inputs = many(len({cell.axes["input"] for cell in cells}), "input")
    return [
        f"{_sentence(best)} ({scorer}, {inputs})"
        for scorer in scorer_names(cells)
        for axis in compared_axes(cells)
        if (best := _leading(compare(cells, axis, scorer, options=options))) is not None
    ]


def _leading(contrasts: Sequence[Contrast]) -> Contrast | None:
    """The two values with the highest means. None if they cannot be compared."""
    judged = [each for each in contrasts if each.p_holm is not None and each.pairs]
    means = {each.first: each.mean_first or 0.0 for each in judged}
    means |= {each.second: each.mean_second or 0.0 for each in judged}
    top = set(sorted(means, key=lambda name: means[name])[-2:])
    return next((each for each in judged if {each.first, each.second} == top), None)


def _sentence(contrast: Contrast) -> str:
    by, p = contrast.difference.value or 0.0, contrast.p_holm
    if by == 0 or p is None:
        return f"{contrast.first} and {contrast.second} score the same"
    better, worse = contrast.first, contrast.second
    if by < 0:
        better, worse = worse, better
    exact = p_text(p)
    shown = f"p {exact}" if exact.startswith("<") else f"p = {exact}"
    proven = "proven" if p < ALPHA else "not proven"
    return f"{better} is better than {worse} by {abs(by):.2f}, {proven}: {shown}"
