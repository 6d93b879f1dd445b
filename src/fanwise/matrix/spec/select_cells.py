"""Which cells of the axes' product are wanted: what `exclude` and `include` leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from fanwise.matrix.cells.cell import Cell, values_by_axis
from fanwise.matrix.spec.matrix_spec import CellPattern, MatrixSpec
from fanwise.specs import Where
from fanwise.specs.nearest import did_you_mean


def wanted(spec: MatrixSpec, cells: Sequence[Cell], where: Where) -> Sequence[Cell]:
    """Without those that are excluded and not included. What fits no cell is a typing error."""
    for kind, matches in (("exclude", spec.exclude), ("include", spec.include)):
        for number, match in enumerate(matches):
            if not any(match.fits(cell.axes) for cell in cells):
                raise where.at(kind, number).bad(f"no cell is like this{_nearest(match, cells)}")
    if not spec.exclude:
        return cells
    left = [cell for cell in cells if _is_left(spec, cell.axes)]
    if not left:
        raise where.at("exclude").bad("nothing is left to run")
    return left


def _is_left(spec: MatrixSpec, axes: Mapping[str, str]) -> bool:
    out = any(each.fits(axes) for each in spec.exclude)
    return not out or any(each.fits(axes) for each in spec.include)


def _nearest(match: CellPattern, cells: Sequence[Cell]) -> str:
    for axis, values in values_by_axis(cells).items():
        asked = getattr(match, axis)
        if not any(fnmatchcase(value, asked) for value in values):
            return f": there is no {axis} {asked!r}{did_you_mean(asked, values)}"
    return ""
