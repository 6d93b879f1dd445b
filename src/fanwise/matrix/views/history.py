"""The versions of a matrix with their scores: over time, the oldest first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from fanwise.journal.port import Journal
from fanwise.matrix.cells.cell import NO_MODEL
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.recorded_matrix import read_matrix
from fanwise.matrix.state.versions import baseline_of, versions
from fanwise.matrix.stats.intervals import Estimate
from fanwise.matrix.stats.summary import ScoreSummary, summarize
from fanwise.matrix.views.rows import score_scale
from fanwise.matrix.views.tables import score_text, usd_text
from fanwise.view.scales import Linear
from fanwise.view.table import Kind, Row, Table

MOST = 50
"""Versions that a table shows: the newest. Each is read from the journal as a whole."""


class PastVersion(NamedTuple):
    number: int
    at: str
    is_baseline: bool
    cells: int
    failed: int
    waiting: int
    usd: str
    scores: dict[str, ScoreSummary]
    """Without controls, like the mean at the top of the report."""

    @property
    def name(self) -> str:
        return f"{self.number} (baseline)" if self.is_baseline else str(self.number)


def history(journal: Journal, run_id: str) -> list[PastVersion]:
    """The newest of them, in order."""
    baseline = baseline_of(journal, run_id)
    found = []
    for each in versions(journal, run_id)[-MOST:]:
        state = read_matrix(journal, run_id, version=str(each.number))
        moment = datetime.fromtimestamp(each.at, UTC).isoformat(timespec="seconds")
        found.append(_past(state, each.number, moment, each.number == baseline))
    return found


def _past(state: MatrixState, number: int, at: str, is_baseline: bool) -> PastVersion:
    all_cells = state.scored
    cells = [each for each in all_cells if each.axes["model"] != NO_MODEL] or all_cells
    scores = summarize(cells, by=[], options=state.options).whole.scores
    whole = summarize(all_cells, by=[], options=state.options).whole
    usd = usd_text(whole.usd)
    return PastVersion(
        number, at, is_baseline, len(all_cells), whole.failed, whole.waiting, usd, scores
    )


def history_table(journal: Journal, run_id: str) -> Table:
    found = history(journal, run_id)
    names = list(dict.fromkeys(name for each in found for name in each.scores))
    columns: dict[str, Kind] = {
        "version": "text", "started_at": "moment", "cells": "integer", "failed": "integer",
        "not_run": "integer", **dict.fromkeys(names, "text"), "usd": "text",
    }  # fmt: skip
    return Table("versions", columns, [_row(each) for each in found])


def _row(each: PastVersion) -> Row:
    scores = {name: score_text(score) for name, score in each.scores.items()}
    row: Row = {"version": each.name, "started_at": each.at, "cells": each.cells}
    return {**row, "failed": each.failed, "not_run": each.waiting, **scores, "usd": each.usd}


class ScoreHistory(NamedTuple):
    scorer: str
    scale: Linear
    means: list[tuple[PastVersion, Estimate, int]]
    """With how many scores are missing."""


def score_histories(found: list[PastVersion]) -> Iterator[ScoreHistory]:
    """One for each scorer, of the versions that have it."""
    for name in dict.fromkeys(name for each in found for name in each.scores):
        means = [(each, score.mean, score.unscored)
                 for each in found if (score := each.scores.get(name)) is not None]  # fmt: skip
        yield ScoreHistory(name, score_scale(mean for _, mean, _ in means), means)
