"""What a matrix showed, as a sentence for each axis: the best value against the next best."""

from __future__ import annotations

from collections.abc import Sequence, Set

from fanwise.core.counts import many
from fanwise.matrix.cells.cell import NO_MODEL
from fanwise.matrix.stats.compare import Contrast, compare
from fanwise.matrix.stats.data import AnalysisOptions, Scored, compared_axes, scorer_names
from fanwise.matrix.stats.sequential import ALPHA
from fanwise.matrix.views.analysis import p_text

MOST_CELLS = 20_000
"""With more, comparing takes seconds that nobody asked for: `fanwise report` does it."""


def conclusion(cells: Sequence[Scored], options: AnalysisOptions) -> list[str]:
    """Nothing where there is nothing to compare, or where it would take long.

    It is not of controls: the known label would be the best, and has nobody to be compared with.
    """
    if len(cells) > MOST_CELLS:
        return []
    asked = [cell for cell in cells if cell.axes["model"] != NO_MODEL] or cells
    found = (
        _leading(compare(cells, axis, scorer, options=options), {cell.axes[axis] for cell in asked})
        for scorer in scorer_names(cells)
        for axis in compared_axes(cells)
    )
    return [_sentence(best) for best in found if best is not None]


def _leading(contrasts: Sequence[Contrast], asked: Set[str]) -> Contrast | None:
    """Of the values that are asked about, the two best. None if they cannot be compared."""
    judged = [each for each in contrasts if each.pairs and {each.first, each.second} <= asked]
    means = {each.first: each.mean_first or 0.0 for each in judged}
    means |= {each.second: each.mean_second or 0.0 for each in judged}
    top = set(sorted(means, key=lambda name: means[name])[-2:])
    return next((each for each in judged if {each.first, each.second} == top), None)


def _sentence(contrast: Contrast) -> str:
    """Before it who failed more often, after it what it is about, and which pairs are missing."""
    before = f"{contrast.failures}; " if contrast.failures else ""
    counted = many(contrast.difference.units, contrast.difference.unit)
    missing = f"; {contrast.unpaired}" if contrast.unpaired else ""
    return f"{before}{_verdict(contrast)} ({contrast.scorer}, {counted}{missing})"


def _verdict(contrast: Contrast) -> str:
    by, p = contrast.difference.value or 0.0, contrast.p_holm
    if abs(by) < 1e-9 or p is None:
        return f"{contrast.first} and {contrast.second} score the same"
    better, worse = contrast.first, contrast.second
    if by < 0:
        better, worse = worse, better
    exact = p_text(p)
    shown = f"p {exact}" if exact.startswith("<") else f"p = {exact}"
    proven = "proven" if p < ALPHA else "not proven"
    size = f"{abs(by):.2f}" if abs(by) >= 0.01 else f"{abs(by):.1g}"
    return f"{better} is better than {worse} by {size}, {proven}: {shown}"
