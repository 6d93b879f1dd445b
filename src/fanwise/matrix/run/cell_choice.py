"""Which cells of a matrix are meant: `--only`, and `--rerun`."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from fanwise.errors import UsageError
from fanwise.matrix.cells.cell import Cell, values_by_axis
from fanwise.matrix.state.definitions import Definition

MOST_NAMED = 20


class CellChoice(msgspec.Struct, frozen=True):
    """What somebody wants of a matrix, this time."""

    only: tuple[str, ...] = ()
    """`axis=value`, `*` for anything. Of one axis any, of several all must fit."""
    rerun: str | None = None
    """failed, all, or the beginning of a cell's id."""
    stop_when_decided: bool = False

    @property
    def retry_failed(self) -> bool:
        """What failed runs once more, and what it had done before is kept."""
        return self.rerun == "failed"

    def cells(self, cells: Sequence[Cell]) -> list[Cell]:
        """Those that are meant. `UsageError` if there are none."""
        wanted = _by_axis(self.only, cells) if self.only else {}
        found = [cell for cell in cells if _fits(cell, wanted)] if wanted else list(cells)
        if not found:
            raise UsageError(f"no cell fits {_words(self.only)}", _values(cells))
        if self.rerun in (None, "failed", "all"):
            return found
        if not self._prefix or not any(map(self._named, found)):
            raise UsageError(
                f"no cell's id begins with {self.rerun!r}",
                "Give failed, all, or the id of a cell: fanwise show --items has them",
            )
        return found

    def anew(self, definition: Definition) -> bool:
        """Whether a cell that has an answer shall have another."""
        if self.rerun in (None, "failed"):
            return False
        return self.rerun == "all" or self._named(definition)

    @property
    def _prefix(self) -> str:
        """How the keys of the cells begin that shall run again; nothing is how all do."""
        return (self.rerun or "").partition("~")[0]

    def _named(self, cell: Cell) -> bool:
        return self._prefix != "" and cell.key.startswith(self._prefix)


def _by_axis(only: Sequence[str], cells: Sequence[Cell]) -> dict[str, list[str]]:
    axes = values_by_axis(cells)
    found: dict[str, list[str]] = {}
    for each in only:
        axis, equals, pattern = each.partition("=")
        if not equals:
            raise UsageError(f"--only {each!r} has no `=`", "Write --only AXIS=VALUE")
        if axis not in axes:
            raise UsageError(f"there is no axis {axis!r}", f"Axes: {', '.join(axes)}")
        found.setdefault(axis, []).append(pattern)
    return found


def _fits(cell: Cell, wanted: dict[str, list[str]]) -> bool:
    axes = cell.axes
    return all(
        any(fnmatchcase(axes[axis], pattern) for pattern in patterns)
        for axis, patterns in wanted.items()
    )


def _words(only: Sequence[str]) -> str:
    return " and ".join(repr(each) for each in only)


def _values(cells: Sequence[Cell]) -> str:
    told = []
    for axis, values in values_by_axis(cells).items():
        more = f", … {len(values) - MOST_NAMED} more" if len(values) > MOST_NAMED else ""
        told.append(f"{axis}: {', '.join(values[:MOST_NAMED])}{more}")
    return "Values: " + "; ".join(told)
