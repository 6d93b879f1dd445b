"""What a report says in numbers: made once, then told as text, as data and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from fanwise.matrix.state.recorded_matrix import RecordedMatrix
from fanwise.matrix.state.results import digest
from fanwise.matrix.stats.compare import Contrast, compare
from fanwise.matrix.stats.data import Scored, axis_values, compared_axes, score_of, scorer_names
from fanwise.matrix.stats.intervals import Estimate, is_binary
from fanwise.matrix.stats.pass_at_k import PassAtK, pass_rates
from fanwise.matrix.stats.summary import GroupSummary, Summary, summarize
from fanwise.matrix.views.tables import GROUP, aligned, group_lines, interval_text

MOST_LINES = 30
"""Of contrasts on a terminal: ten models have 45."""


class Analysis(msgspec.Struct, frozen=True):
    """All of it."""

    cells: list[Scored]
    scorers: list[str]
    summary: Summary
    contrasts: list[Contrast]
    pass_at_k: list[PassAtK]
    """Only where there are repeats, and of scorers that say right or wrong."""

    @property
    def groups(self) -> list[GroupSummary]:
        """By model and strategy."""
        return [each for each in self.summary.groups if set(each.axes) == set(GROUP)]

    def by(self, axis: str) -> list[GroupSummary]:
        """By one axis."""
        return [each for each in self.summary.groups if set(each.axes) == {axis}]


def analyse(found: RecordedMatrix) -> Analysis:
    """The cells as they are in the journal."""
    cells = [each.scored for each in found.results]
    repeats = len(axis_values(cells, "repeat")) > 1
    return Analysis(
        cells,
        found.scorers,
        summarize(cells, by=[("model",), ("strategy",), GROUP]),
        [contrast for scorer in found.scorers for contrast in _contrasts(cells, scorer)],
        [rate for scorer in found.scorers if repeats for rate in _pass_rates(cells, scorer)],
    )


def _pass_rates(cells: Sequence[Scored], scorer: str) -> list[PassAtK]:
    """Of scores that are right or wrong; others have no pass."""
    scores = [score for cell in cells if (score := score_of(cell, scorer)) is not None]
    return pass_rates(cells, scorer) if scores and is_binary([scores]) else []


def _contrasts(cells: Sequence[Scored], scorer: str) -> Iterator[Contrast]:
    for axis in compared_axes(cells):
        yield from (each for each in compare(cells, axis, scorer) if _says_something(each))


def _says_something(contrast: Contrast) -> bool:
    """A control has no model: its cells have no partners under another."""
    return contrast.pairs > 0


def document_of(found: RecordedMatrix, analysis: Analysis) -> dict[str, Any]:
    """For programs."""
    return {
        "run": found.run.id,
        "name": found.run.name,
        "status": found.run.status,
        "digest": digest(found.results),
        "cells": len(found.results),
        "waiting": len(found.waiting),
        "summary": analysis.summary.to_json(),
        "contrasts": msgspec.to_builtins(analysis.contrasts),
        "pass_at_k": msgspec.to_builtins(analysis.pass_at_k),
        "environment": found.environment,
    }


def lines_of(found: RecordedMatrix, analysis: Analysis) -> list[str]:
    """For a terminal."""
    lines = ["no cell has ended yet"]
    if analysis.groups:
        lines = group_lines(analysis.groups, scorer_names(analysis.cells))
    if found.waiting:
        lines += ["", f"{len(found.waiting)} cells were not run"]
    if analysis.contrasts:
        shown = sorted(analysis.contrasts, key=_p)[:MOST_LINES]
        more = len(analysis.contrasts) - len(shown)
        lines += ["", *aligned(_contrast_rows([c for c in analysis.contrasts if c in shown]))]
        lines += [f"… and {more} more with larger p-values"] if more else []
    if analysis.pass_at_k:
        lines += ["", *aligned(_pass_rows(analysis.pass_at_k))]
    return lines


def _p(contrast: Contrast) -> float:
    return 1.0 if contrast.p_holm is None else contrast.p_holm


def _contrast_rows(contrasts: Sequence[Contrast]) -> list[list[str]]:
    rows = [["PAIRED", "FIRST", "SECOND", "SCORE", "PAIRS", "DIFFERENCE", "P", "P (HOLM)"]]
    rows += [
        [each.axis, each.first, each.second, each.scorer, str(each.pairs),
         interval_text(each.difference, sign=True), p_text(each.p), p_text(each.p_holm)]
        for each in contrasts
    ]  # fmt: skip
    return rows


def _pass_rows(rates: Sequence[PassAtK]) -> list[list[str]]:
    ks = sorted({each.k for each in rates})
    found: dict[tuple[str, str, str], dict[int, Estimate]] = {}
    for each in rates:
        key = (each.axes["model"], each.axes["strategy"], each.scorer)
        found.setdefault(key, {})[each.k] = each.estimate
    rows = [["MODEL", "STRATEGY", "SCORE", *(f"PASS@{k}" for k in ks)]]
    for key, by_k in found.items():
        rows.append([*key, *(interval_text(by_k[k]) if k in by_k else "-" for k in ks)])
    return rows


def p_text(p: float | None) -> str:
    """A p-value as people write it."""
    return "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"
