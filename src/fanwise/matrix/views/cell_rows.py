"""One row for each cell of a matrix: what `fanwise export` writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fanwise.matrix.cells.cell import Cell
from fanwise.matrix.state.recorded_matrix import RecordedMatrix
from fanwise.matrix.state.results import CellResult
from fanwise.view.table import Kind, Row, Table

BEFORE: dict[str, Kind] = {
    "cell": "text", "model": "text", "strategy": "text", "input": "text", "repeat": "integer",
    "provider": "text", "seed": "integer", "status": "text", "text": "text", "value": "json",
}  # fmt: skip
AFTER: dict[str, Kind] = {
    "error": "text", "calls": "integer", "queued_s": "number", "ran_s": "number",
    "backoff_s": "number", "first_token_s": "number", "input_tokens": "integer",
    "output_tokens": "integer", "usd": "number", "scoring_usd": "number", "messages": "json",
    "steps": "json",
}  # fmt: skip


def cell_table(found: RecordedMatrix) -> Table:
    """All cells in the order of the matrix: those that ended, then those that wait."""
    scorers = found.scorers
    return Table("cells", {**BEFORE, **_score_columns(scorers), **AFTER}, _rows(found))


def _score_columns(scorers: Sequence[str]) -> dict[str, Kind]:
    columns: dict[str, Kind] = {}
    for name in scorers:
        columns[f"score_{name}"] = "number"
        columns[f"reason_{name}"] = "text"
        columns[f"scorer_error_{name}"] = "text"
    return columns


def _rows(found: RecordedMatrix) -> Iterator[Row]:
    for result in found.results:
        yield _row(result)
    for cell in found.waiting:
        yield {**_axes(cell, cell.key), "status": "waiting"}


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


def _row(result: CellResult) -> Row:
    answer: dict[str, Any] = result.answer or {}
    row: Row = {**_axes(result.cell, result.id), "status": result.status}
    row |= {"text": answer.get("text"), "value": answer.get("value")}
    for name, score in result.scores.items():
        row[f"score_{name}"] = score.score
        row[f"reason_{name}"] = score.reason
        row[f"scorer_error_{name}"] = score.error
    names = ("error", "calls", "queued_s", "ran_s", "backoff_s", "first_token_s", "input_tokens",
             "output_tokens", "usd", "scoring_usd")  # fmt: skip
    row |= {name: getattr(result, name) for name in names}
    row["messages"] = answer.get("messages")
    row["steps"] = {name: step["text"] for name, step in result.steps.items()}
    return row
