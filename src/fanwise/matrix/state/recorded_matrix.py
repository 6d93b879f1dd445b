"""A matrix read from its journal: all cells, what came of them, and every call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from fanwise.core.counts import Counts
from fanwise.core.outcome import Attempt, Outcome, Status
from fanwise.journal.codec import JSON, decode_error
from fanwise.journal.port import ItemRecord, Journal, RunRecord
from fanwise.matrix.cells.cell import Cell
from fanwise.matrix.state.definitions import Definition, recorded
from fanwise.matrix.state.results import CellResult, Score, score_of, unaffordable
from fanwise.matrix.state.spending import FAN_OUT, Spending

PAGE = 200
"""Cells whose items are held at once."""
AT_ONCE = 500
"""Items that are asked for at once."""


class RecordedMatrix(msgspec.Struct, frozen=True):
    """What a journal knows of a matrix, as it is now (not as it was before it was edited)."""

    run: RunRecord
    results: list[CellResult]
    waiting: list[Cell]
    """Cells without an answer or an error."""
    environment: dict[str, Any] | None
    """Of the last execution."""
    scorers: list[str]
    """In the order of the matrix."""


def read_matrix(journal: Journal, run_id: str) -> RecordedMatrix:
    """All of it."""
    definitions = [each for each in recorded(journal, run_id) if each.now]
    results = list(read_results(journal, run_id, definitions))
    known = {each.cell.key for each in results}
    waiting = [each.as_cell() for each in definitions if each.key not in known]
    scorers = list(dict.fromkeys(name for each in definitions for name in each.scores))
    environment = _environment(journal, run_id)
    return RecordedMatrix(journal.run(run_id), results, waiting, environment, scorers)


def count_cells(journal: Journal, run_id: str) -> Counts:
    """How many cells have ended, without reading what came of them."""
    statuses: dict[str, str] = {}
    for fan_out in journal.fan_outs(run_id):
        if fan_out.path == FAN_OUT:
            statuses.update(journal.statuses(fan_out.id))
    done = failed = total = 0
    for each in (each for each in recorded(journal, run_id) if each.now):
        steps = [statuses.get(each.step_key(number)) for number in range(len(each.steps))]
        scores = [statuses.get(each.score_key(name)) for name in each.scores]
        total += 1
        failed += "failed" in steps
        done += set(steps) == {"done"} and all(status in ("done", "failed") for status in scores)
    return Counts("cell", done, failed, total)


def read_results(
    journal: Journal, run_id: str, definitions: Sequence[Definition]
) -> Iterator[CellResult]:
    """Of the cells that have ended, in this order."""
    found = [each.id for each in journal.fan_outs(run_id) if each.path == FAN_OUT]
    if not found:
        return
    spending = Spending()
    spending.read(journal, run_id)
    for start in range(0, len(definitions), PAGE):
        page = definitions[start : start + PAGE]
        items = _items(journal, found[0], page)
        for definition in page:
            result = _result(definition, items, spending)
            if result is not None:
                yield result


def _items(journal: Journal, fan_out: int, page: Sequence[Definition]) -> dict[str, Outcome[Any]]:
    keys = [key for each in page for key in _keys(each)]
    found: dict[str, Outcome[Any]] = {}
    for start in range(0, len(keys), AT_ONCE):
        for row in journal.items(fan_out, keys[start : start + AT_ONCE]):
            if row.status in ("done", "failed"):
                found[row.key] = _outcome(row)
    return found


def _keys(definition: Definition) -> list[str]:
    steps = [definition.step_key(number) for number in range(len(definition.steps))]
    return steps + [definition.score_key(name) for name in definition.scores]


def _result(
    definition: Definition, items: dict[str, Outcome[Any]], spending: Spending
) -> CellResult | None:
    outcomes: list[Outcome[Any]] = []
    for number in range(len(definition.steps)):
        outcome = items.get(definition.step_key(number))
        if outcome is None or unaffordable(outcome):
            return None
        outcomes.append(outcome)
        if not outcome.ok:
            break
    scores: dict[str, Score] = {}
    for name in definition.scores:
        outcome = items.get(definition.score_key(name))
        if outcome is not None:
            scores[name] = score_of(outcome)
    return CellResult.made(definition, outcomes, scores, spending)


def _outcome(row: ItemRecord) -> Outcome[Any]:
    return Outcome(
        row.index,
        cast(Status, row.status),
        None if row.value is None else JSON.decode(row.value),
        None if row.error is None else decode_error(row.error),
        (Attempt(row.queued_s, row.ran_s, row.backoff_s),),
        row.key,
        recorded=True,
    )


def _environment(journal: Journal, run_id: str) -> dict[str, Any] | None:
    found = None
    for event in journal.events(run_id):
        if event.kind == "environment":
            found = event.decode(dict[str, Any])
    return found
