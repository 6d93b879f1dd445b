"""What a report says in numbers: made once, then told as text, as data and as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from fanwise.core.counts import many
from fanwise.journal.port import RunRecord
from fanwise.matrix.state.matrix_state import REASONS, MatrixState
from fanwise.matrix.state.results import digest
from fanwise.matrix.stats.compare import Contrast, compare
from fanwise.matrix.stats.data import (
    AnalysisOptions,
    Scored,
    axis_values,
    compared_axes,
    score_of,
    scorer_names,
)
from fanwise.matrix.stats.intervals import Estimate, is_binary, range_text
from fanwise.matrix.stats.pass_at_k import PassAtK, pass_rates
from fanwise.matrix.stats.sequential import ContrastVerdict
from fanwise.matrix.stats.summary import GroupSummary, Summary, summarize
from fanwise.matrix.views.tables import (
    GROUP,
    aligned,
    group_lines,
    judges_lines,
)

MOST_LINES = 30
"""Of contrasts on a terminal: ten models have 45."""


class Analysis(msgspec.Struct, frozen=True):
    cells: list[Scored]
    """Those that ended."""
    scorers: list[str]
    summary: Summary
    contrasts: list[Contrast]
    """Without p-values where repeats were left out: a test made for one look is too sure then."""
    verdicts: Sequence[ContrastVerdict]
    """What can be relied on instead."""
    pass_at_k: list[PassAtK]
    """Only where there are repeats, and of scorers that say right or wrong."""
    failed_as: float | None = 0.0
    """As in `AnalysisOptions`."""

    @property
    def groups(self) -> list[GroupSummary]:
        return [each for each in self.summary.groups if set(each.axes) == set(GROUP)]

    def by(self, axis: str) -> list[GroupSummary]:
        return [each for each in self.summary.groups if set(each.axes) == {axis}]


def analyse(found: MatrixState) -> Analysis:
    """All that the report says of these cells."""
    planned, options = found.scored, found.options
    cells = [each for each in planned if each.status != "waiting"]
    repeats = len(axis_values(cells, "repeat")) > 1
    contrasts = [each for name in found.scorers for each in _contrasts(planned, name, options)]
    if found.left_out:
        contrasts = [msgspec.structs.replace(each, p=None, p_holm=None) for each in contrasts]
    return Analysis(
        cells,
        found.scorers,
        summarize(planned, by=[("model",), ("strategy",), GROUP], options=options),
        contrasts,
        found.verdicts,
        [
            rate
            for scorer in found.scorers
            if repeats
            for rate in _pass_rates(cells, scorer, options)
        ],
        options.failed_as,
    )


def _pass_rates(cells: Sequence[Scored], scorer: str, options: AnalysisOptions) -> list[PassAtK]:
    """Of scores that are right or wrong; others have no pass."""
    scores = [score for cell in cells if (score := score_of(cell, scorer)) is not None]
    return pass_rates(cells, scorer, options=options) if scores and is_binary([scores]) else []


def _contrasts(
    cells: Sequence[Scored], scorer: str, options: AnalysisOptions
) -> Iterator[Contrast]:
    for axis in compared_axes(cells):
        found = compare(cells, axis, scorer, options=options)
        yield from (each for each in found if _says_something(each))


def _says_something(contrast: Contrast) -> bool:
    """A control has no model: its cells have no partners under another."""
    return contrast.planned > 0


def document_of(run: RunRecord, found: MatrixState, analysis: Analysis) -> dict[str, Any]:
    return {
        "run": run.id,
        "name": run.name,
        "version": found.version,
        "status": run.status,
        "digest": digest(found.results),
        "cells": len(found.results),
        "waiting": len(found.waiting),
        "left_out": len(found.left_out),
        "failed_as": "missing" if found.options.failed_as is None else found.options.failed_as,
        "summary": analysis.summary.to_json(),
        "contrasts": msgspec.to_builtins(analysis.contrasts),
        "verdicts": msgspec.to_builtins(analysis.verdicts),
        "pass_at_k": msgspec.to_builtins(analysis.pass_at_k),
        "environment": found.environment,
    }


def not_run_lines(found: MatrixState) -> list[str]:
    """How many cells did not run, and why."""
    counts = Counter(each.why for each in found.waiting)
    return [f"{many(count, 'cell')} {REASONS[why]}" for why, count in counts.items()]


def verdict_lines(verdicts: Sequence[ContrastVerdict]) -> list[str]:
    """What `--stop-when-decided` found, with intervals that hold however often one looks."""
    if not verdicts:
        return []
    rows = [["SETTLED", "FIRST", "SECOND", "SCORE", "REPEATS", "PAIRS", "DIFFERENCE", "VERDICT"]]
    rows += [
        [each.axis, each.first, each.second, each.scorer, str(each.rounds), str(each.pairs),
         range_text(each.mean, each.low, each.high), verdict_text(each)]
        for each in verdicts
    ]  # fmt: skip
    return aligned(rows)


def verdict_text(verdict: ContrastVerdict) -> str:
    if verdict.decision is None:
        return verdict.note or "not settled"
    better = verdict.first if verdict.decision == "first" else verdict.second
    return f"{better} is better"


def lines_of(found: MatrixState, analysis: Analysis) -> list[str]:
    lines = ["no cell has ended yet"]
    if analysis.cells:
        lines = group_lines(analysis.groups, scorer_names(analysis.cells))
        lines += judges_lines(found.results)
    for more in (not_run_lines(found), verdict_lines(analysis.verdicts)):
        lines += ["", *more] if more else []
    if analysis.contrasts:
        lines += ["", *contrast_notes(analysis.contrasts)]
        shown = sorted(analysis.contrasts, key=_p)[:MOST_LINES]
        hidden = len(analysis.contrasts) - len(shown)
        lines += aligned(_contrast_rows([c for c in analysis.contrasts if c in shown]))
        lines += [f"… and {hidden} more with larger p-values"] if hidden else []
    for table in pass_tables(analysis.pass_at_k):
        lines += ["", *aligned(_pass_rows(table))]
    return lines


def contrast_notes(contrasts: Sequence[Contrast]) -> list[str]:
    """Where sides failed unevenly and what could not be paired; each once, before the numbers."""
    told = [f"{each.axis}: {note}" for each in contrasts for note in (each.failures,) if note]
    told += [f"{each.axis}: {each.first} and {each.second} ({each.scorer}): {each.unpaired}"
             for each in contrasts if each.missing]  # fmt: skip
    found = list(dict.fromkeys(told))
    more = len(found) - MOST_LINES
    return found[:MOST_LINES] + ([f"… and {more:,} more"] if more > 0 else [])


def _p(contrast: Contrast) -> float:
    return 1.0 if contrast.p_holm is None else contrast.p_holm


def _contrast_rows(contrasts: Sequence[Contrast]) -> list[list[str]]:
    rows = [["PAIRED", "FIRST", "SECOND", "SCORE", "PAIRS", "DIFFERENCE", "P", "P (HOLM)"]]
    rows += [
        [each.axis, each.first, each.second, each.scorer, str(each.pairs),
         each.difference.text(sign=True), p_text(each.p), p_text(each.p_holm)]
        for each in contrasts
    ]  # fmt: skip
    return rows


class PassTable(NamedTuple):
    """pass@k by one scorer: a row for each model and strategy, a column for each k."""

    scorer: str
    ks: list[int]
    rows: Sequence[tuple[str, str, Sequence[Estimate | None]]]


def pass_tables(rates: Sequence[PassAtK]) -> Iterator[PassTable]:
    for scorer, found in groupby(rates, key=lambda each: each.scorer):
        by_group: dict[tuple[str, str], dict[int, Estimate]] = {}
        for each in found:
            group = (each.axes["model"], each.axes["strategy"])
            by_group.setdefault(group, {})[each.k] = each.estimate
        ks = sorted({k for by_k in by_group.values() for k in by_k})
        rows = [(*group, [by_k.get(k) for k in ks]) for group, by_k in sorted(by_group.items())]
        yield PassTable(scorer, ks, rows)


def _pass_rows(table: PassTable) -> list[list[str]]:
    head = ["MODEL", "STRATEGY", "SCORE", *(f"PASS@{k}" for k in table.ks)]
    rows = [
        [model, strategy, table.scorer, *("-" if each is None else each.text() for each in found)]
        for model, strategy, found in table.rows
    ]
    return [head, *rows]


def p_text(p: float | None) -> str:
    return "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"
