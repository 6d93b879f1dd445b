"""The cells of a matrix for the live view: found by axes, scores, text and time, page by page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from fanwise.journal.codec import JSON
from fanwise.journal.port import InputRecord, Journal, RunRecord
from fanwise.matrix.state.definitions import Definition
from fanwise.matrix.state.given import Given
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.recorded_matrix import PAGE, replay_cells
from fanwise.matrix.state.results import CellResult
from fanwise.matrix.state.spending import FAN_OUT, Spending
from fanwise.view.item_table import ItemsWanted, ListedItem, ListedItems, SearchClock

AXES = ("model", "strategy", "input", "repeat")
FOR_CHOICES = 5_000
"""From so many cells come the values that can be chosen; others can be written in the address."""
MOST_CHOICES = 200


def list_cells(
    journal: Journal, run: RunRecord, wanted: ItemsWanted, after: int, most: int
) -> ListedItems:
    """The wanted cells, in the order in which they are defined."""
    first = [row.decode(Definition) for row in islice(journal.inputs(run.id), FOR_CHOICES)]
    scorers = list(dict.fromkeys(name for each in first for name in each.scores))
    fan_out = next((each.id for each in journal.fan_outs(run.id) if each.path == FAN_OUT), None)
    found: list[ListedItem] = []
    clock, place, rows = SearchClock(), after, journal.inputs(run.id, after)
    while len(found) < most and not clock.is_up and (page := [*islice(rows, PAGE)]):
        place = page[-1].index + 1
        for index, item in _listed(journal, fan_out, page, scorers, wanted):
            found.append(item)
            if len(found) == most:
                place = index + 1
                break
    is_more = next(journal.inputs(run.id, place), None) is not None
    return ListedItems(
        FAN_OUT,
        [*AXES, *scorers],
        {axis: _values(first, axis) for axis in AXES},
        scorers,
        ("done", "failed", "waiting"),
        found,
        place if is_more else None,
        place - after,
    )


def _values(cells: Sequence[Definition], axis: str) -> list[str]:
    return list(dict.fromkeys(str(getattr(each, axis)) for each in cells))[:MOST_CHOICES]


def _listed(
    journal: Journal,
    fan_out: int | None,
    page: Sequence[InputRecord],
    scorers: Sequence[str],
    wanted: ItemsWanted,
) -> Iterator[tuple[int, ListedItem]]:
    """The wanted cells of a page of definitions, each with its place."""
    cells = {
        row.index: cell
        for row in page
        if (cell := row.decode(Definition)).now
        and all(_on_axis(cell, axis) == value for axis, value in wanted.chosen.items())
    }
    results = _results(journal, fan_out, list(cells.values()))
    for place, cell in cells.items():
        result = results.get(cell.key)
        item = _item(cell, result, scorers)
        told = f"{item.key} {' '.join(item.columns)} {item.text}".lower()
        if (
            (not wanted.status or item.status == wanted.status)
            and wanted.text.lower() in told
            and (item.ran_s or 0.0) >= wanted.ran_s
            and (not wanted.score or _is_low(result, wanted))
        ):
            yield place, item


def _on_axis(cell: Definition, axis: str) -> str | None:
    """None: there is no such axis, for it comes from an address."""
    return str(getattr(cell, axis)) if axis in AXES else None


def _results(
    journal: Journal, fan_out: int | None, cells: Sequence[Definition]
) -> dict[str, CellResult]:
    """Those that have ended, by key, without what they spent."""
    state = MatrixState(cells, Spending())
    if fan_out is not None:
        replay_cells(state, journal, fan_out, cells)
    return {each.cell.key: each for each in state.results}


def _is_low(result: CellResult | None, wanted: ItemsWanted) -> bool:
    score = None if result is None else result.scores.get(wanted.score)
    return score is not None and score.score is not None and score.score <= wanted.at_most


def _item(cell: Definition, result: CellResult | None, scorers: Sequence[str]) -> ListedItem:
    axes = [str(getattr(cell, name)) for name in AXES]
    if result is None:
        return ListedItem(cell.step_key(0), "waiting", [*axes, *[""] * len(scorers)], None, "")
    scores = [_score(result, name) for name in scorers]
    answer = str(result.answer.get("text", "")) if result.answer else result.error or ""
    last = min(len(result.steps) - (result.status == "done"), len(cell.steps) - 1)
    return ListedItem(cell.step_key(last), result.status, [*axes, *scores], result.ran_s, answer)


def _score(result: CellResult, name: str) -> str:
    score = result.scores.get(name)
    if score is None:
        return ""
    return "error" if score.score is None else f"{score.score:g}"


def whole_value(journal: Journal, run: RunRecord, key: str, value: Any) -> Any:
    """With the model, the prompt, what is expected, and what each scorer said."""
    name, _, step = key.partition(" ")
    mark = msgspec.json.encode(name)
    rows = (row.decode(Definition) for row in journal.inputs(run.id) if mark in row.data)
    cell = next((each for each in rows if each.cell == name), None)
    if cell is None or step not in cell.steps or not isinstance(value, dict | None):
        return value
    fan_out = next((each.id for each in journal.fan_outs(run.id) if each.path == FAN_OUT), None)
    given = Given(JSON.decode(run.spec))
    known: dict[str, Any] = {"model": cell.model, "input": given.input(cell)}
    for result in _results(journal, fan_out, [cell]).values():
        known["messages"] = given.asked(result, cell.steps.index(step))
        known["expected"] = given.expected(cell)
        known["scores"] = {n: msgspec.to_builtins(s) for n, s in result.scores.items()}
    return {**known, **(value or {})}
