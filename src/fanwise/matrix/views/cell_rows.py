"""One row for each cell of a matrix: what `fanwise export` writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fanwise.matrix.cells.cell import Cell
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.results import CellResult
from fanwise.view.table import Kind, Row, Table

BEFORE: dict[str, Kind] = {
    "cell": "text", "model": "text", "strategy": "text", "input": "text", "repeat": "integer",
    "provider": "text", "seed": "integer", "status": "text", "text": "text", "value": "json",
}  # fmt: skip
AFTER: dict[str, Kind] = {
    "error": "text", "fault": "text", "not_run_because": "text", "calls": "integer",
    "cached": "integer", "queued_s": "number", "ran_s": "number", "backoff_s": "number",
    "first_token_s": "number", "lag_s": "number", "in_flight": "integer",
    "input_tokens": "integer", "output_tokens": "integer", "usd": "number", "usd_known": "number",
    "scoring_usd": "number", "input_data": "json", "messages": "json", "steps": "json",
}  # fmt: skip


def cell_table(found: MatrixState) -> Table:
    """All cells in the order of the matrix: those that ended, then those that wait."""
    scorers = found.scorers
    return Table("cells", {**BEFORE, **_score_columns(scorers), **AFTER}, _rows(found))


def _score_columns(scorers: Sequence[str]) -> dict[str, Kind]:
    columns: dict[str, Kind] = {}
    for name in scorers:
        columns[f"expected_{name}"] = "json"
        columns[f"score_{name}"] = "number"
        columns[f"reason_{name}"] = "text"
        columns[f"scorer_error_{name}"] = "text"
    return columns


def _rows(found: MatrixState) -> Iterator[Row]:
    empty: Row = dict.fromkeys({**BEFORE, **_score_columns(found.scorers), **AFTER})
    for result in found.results:
        row = {**empty, **_row(result, found.scorers, found.options.failed_as)}
        if found.given is not None and result.answer is not None:
            row["messages"] = found.given.asked(result, len(result.steps) - 1) or None
        yield {**row, **_given(result.cell, found)}
    for each in found.waiting:
        status = {"status": "waiting", "not_run_because": each.why}
        axes = _axes(each.cell, each.cell.key)
        yield {**empty, **axes, **status, **_given(each.cell, found)}


def _given(cell: Cell, found: MatrixState) -> Row:
    if found.given is None:
        return {}
    expected = found.given.expected(cell).items()
    known = {f"expected_{name}": value for name, value in expected if name in found.scorers}
    return {"input_data": found.given.input(cell), **known}


def _axes(cell: Cell, id_: str) -> Row:
    return {
        "cell": id_,
        "model": cell.model,
        "strategy": cell.strategy,
        "input": cell.input,
        "repeat": cell.repeat,
        "provider": cell.provider,
        "seed": cell.seed,
    }


def _row(result: CellResult, scorers: Sequence[str], failed_as: float | None) -> Row:
    answer: dict[str, Any] = result.answer or {}
    row: Row = {**_axes(result.cell, result.id), "status": result.status}
    row |= {"text": answer.get("text"), "value": answer.get("value")}
    if result.status == "failed" and result.fault == "strategy":
        row |= {f"score_{name}": failed_as for name in scorers}
    for name, score in result.scores.items():
        row[f"score_{name}"] = score.score
        row[f"reason_{name}"] = score.reason
        row[f"scorer_error_{name}"] = score.error
    row |= {"error": result.error, "fault": result.fault, "scoring_usd": result.scoring_usd}
    row |= result.measures
    row["steps"] = {name: step["text"] for name, step in result.steps.items()}
    return row
