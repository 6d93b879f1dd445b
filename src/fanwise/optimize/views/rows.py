"""A run for other programs: one row for each candidate, and all of it as one document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from fanwise.optimize.views.results import STAGES, LineageRow, Results
from fanwise.optimize.views.text import size_text
from fanwise.view.table import Kind, Row, Table

COLUMNS: dict[str, Kind] = {
    "name": "text", "key": "text", "kind": "text", "how": "text", "round": "integer",
    "parent": "text", "status": "text", "winner": "integer", "stage": "text", "reason": "text",
    "same_as": "text", "ratio": "number", "low": "number", "high": "number", "rounds": "integer",
    "baseline_s": "number", "candidate_s": "number", "sizes": "text", "diff_lines": "integer",
    **{f"{stage}_s": "number" for stage in STAGES},
    "differing_call": "text", "expected": "text", "got": "text", "patch": "text",
}  # fmt: skip
"""All that a row can have, in the order of a table."""


def candidate_table(results: Results) -> Table:
    """Every candidate, judged or not, each below the one that it was made from."""
    return Table("candidates", COLUMNS, _rows(results))


def document_of(results: Results) -> dict[str, Any]:
    """The whole report as plain data."""
    best = results.winner
    return {
        "run": results.run.id,
        "name": results.run.name,
        "status": results.run.status,
        "winner": None if best is None else best.candidate.key,
        "counts": dict(results.counts),
        "accept": {
            "speedup": results.accept.speedup,
            "confidence": results.accept.confidence,
        },
        "noise": results.noise,
        "candidates": msgspec.to_builtins(results.state.verdicts),
        "waiting": msgspec.to_builtins(results.state.waiting),
        "unusable": msgspec.to_builtins(results.state.unusable),
        "failures": results.state.failures,
        "outside": list(results.state.outside),
    }


def _rows(results: Results) -> Iterator[Row]:
    for placed in results.rows:
        yield {name: value for name, value in _row(results, placed).items() if value is not None}


def _row(results: Results, placed: LineageRow) -> Row:
    candidate = placed.candidate
    verdict = results.verdicts.get(candidate.key)
    row: Row = {
        "name": candidate.name,
        "key": candidate.key,
        "kind": candidate.kind,
        "how": candidate.how,
        "round": candidate.round,
        "parent": candidate.parent,
        "status": results.status(candidate),
        "winner": int(results.is_winner(candidate)),
    }
    if verdict is None:
        return row
    row |= {"stage": verdict.stage, "reason": verdict.reason, "same_as": verdict.same_as}
    row |= {"diff_lines": verdict.diff_lines, "patch": verdict.patch}
    row |= {f"{stage}_s": verdict.seconds.get(stage) for stage in STAGES}
    if (speed := verdict.speed) is not None:
        names = ("ratio", "low", "high", "rounds", "baseline_s", "candidate_s")
        row |= {name: getattr(speed, name) for name in names}
        row["sizes"] = "; ".join(size_text(each) for each in speed.classes)
    if (found := verdict.difference) is not None:
        row |= {"differing_call": found.call, "expected": found.expected}
        row["got"] = found.got
    return row
