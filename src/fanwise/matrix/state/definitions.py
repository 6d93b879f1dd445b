"""What the cells of a run are, in its journal: a matrix's items say only what came of them.

They are kept as the run's inputs, one row each, and are read by the report, by the journal's views,
and by the next execution. Rows are not rewritten, but ended: a cell that changed (edited, or run
anew) gets a row of its own, and its old one says in which version of the matrix it ended. So each
version has its cells, and what did not change is stored once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from fanwise.journal.port import InputRecord, Journal
from fanwise.matrix.answers.steps import AnswerStep
from fanwise.matrix.cells.cell import Cell, key_of
from fanwise.matrix.scores.scorers import Scorer


class Definition(Cell, frozen=True, gc=False, omit_defaults=True):
    """One cell, and how its items are called."""

    cell: str
    """How the keys of its items begin."""
    steps: list[str]
    scores: dict[str, str]
    """By scorer: how the keys of its items end."""
    time: int = 0
    """How often it was run anew."""
    now: bool = True
    """Whether it is part of the matrix as it is."""
    since: int = 1
    """The first version of the matrix that has it."""
    until: int = 0
    """The first version that does not have it any more; 0: there is none."""

    def in_version(self, number: int) -> bool:
        return self.since <= number and (not self.until or number < self.until)

    def as_cell(self) -> Cell:
        """Without what is only for the journal."""
        return Cell(
            self.key, self.model, self.strategy, self.input, self.repeat, self.provider, self.seed
        )

    def step_key(self, number: int) -> str:
        """Of the item of a step."""
        return f"{self.cell} {self.steps[number]}"

    def score_key(self, scorer: str) -> str:
        """Of the item of a score."""
        return f"{self.cell} score {self.scores[scorer]}"


class Definer:
    """Defines the cells of a matrix as it is. What they share, they have in common."""

    def __init__(
        self, steps: Mapping[str, Sequence[AnswerStep]], scorers: Sequence[Scorer]
    ) -> None:
        self._steps = {name: [step.name for step in each] for name, each in steps.items()}
        self._scores = {each.name: _score_name(each) for each in scorers}

    def define(self, cell: Cell, time: int = 0) -> Definition:
        """A cell for the n-th time."""
        name = cell.key if time == 0 else f"{cell.key}~{time}"
        return Definition(
            cell.key, cell.model, cell.strategy, cell.input, cell.repeat, cell.provider, cell.seed,
            name, self._steps[cell.strategy], self._scores, time,
        )  # fmt: skip


def _score_name(scorer: Scorer) -> str:
    # Another scorer of the same name is another score of the same answer.
    return f"{scorer.name} {key_of(scorer.identity)[:8]}"


def recorded(journal: Journal, run_id: str) -> list[Definition]:
    """All rows: every cell that the run ever had."""
    return [row.decode(Definition) for row in journal.inputs(run_id)]


def cells_of(rows: Sequence[Definition], version: int | None = None) -> list[Definition]:
    """The cells of a version, or of the matrix as it is; each in the place that it had first."""
    places: dict[str, int] = {}
    for place, each in enumerate(rows):
        places.setdefault(each.key, place)
    found = [each for each in rows if (each.now if version is None else each.in_version(version))]
    return sorted(found, key=lambda each: places[each.key])


def updated(
    before: Sequence[Definition],
    cells: Iterable[Cell],
    make: Callable[[Cell, int], Definition],
    anew: Callable[[Definition], bool],
    version: int,
) -> tuple[dict[str, Definition], dict[int, Definition]]:
    """The cells of the matrix as it is, by key; and the rows to be written if it is that version.

    `make` defines a cell for the n-th time; `anew`: whether one that is known shall run again.
    """
    rows = {each.key: row for row, each in enumerate(before)}
    found: dict[str, Definition] = {}
    changes: dict[int, Definition] = {}
    for cell in cells:
        old = before[rows[cell.key]] if cell.key in rows else None
        again = old is not None and anew(old)
        made = replace(make(cell, 0 if old is None else old.time + again), since=version)
        if old is not None and old.now and made == replace(old, since=version):
            found[cell.key] = old
            continue
        found[cell.key] = made
        changes[len(before) + len(changes)] = made
    for row, old in enumerate(before):
        if old.now and found.get(old.key) is not old:
            changes[row] = replace(old, now=False, until=version)
    return found, changes


def write(journal: Journal, run_id: str, changes: Mapping[int, Definition]) -> None:
    for row, each in changes.items():
        journal.submit(InputRecord(run_id, row, msgspec.json.encode(each)))
