"""What people are told of a matrix that has run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fanwise.matrix.state.recorded_matrix import RecordedMatrix
from fanwise.matrix.state.results import CellResult, CellsExecution, Score, digest
from fanwise.matrix.stats.sequential import ContrastVerdict
from fanwise.matrix.views.tables import summary_lines
from fanwise.specs.system import End

MOST_NAMED = 5
MOST_TEXT = 100


def end_of(done: CellsExecution) -> End:
    """The summary on stdout, what is wrong on stderr."""
    found = done.results
    document = {
        "digest": digest(found),
        "cells": [each.to_json() for each in found],
        "left_out": [cell.key for cell in done.left_out],
    }
    code = 1 if done.failed or done.badly_scored or done.counts.short else 0
    failures = [f"{name_of(each)}: {each.error}" for each in done.failed]
    lines, notes = summary_lines(found), _notes(done)
    return End(document, lines, notes, code, done.counts, failures=failures)


def _notes(done: CellsExecution) -> list[str]:
    notes = []
    failed, unscored = done.failed, done.badly_scored
    if failed:
        notes.append(f"{len(failed)} of {done.wanted} cells failed; with --rerun failed once more:")
        notes += _some(failed, lambda each: each.error or "")
    if unscored:
        notes.append(f"{len(unscored)} answers have no score of some scorer; see fanwise score:")
        notes += _some(unscored, _score_error)
    if done.left_out:
        notes.append(f"{len(done.left_out)} cells were not needed: their contrasts are settled")
        notes += [f"  {_verdict(each)}" for each in done.verdicts if each.decision is not None]
    return notes + _undecidable(done.verdicts)


def _undecidable(verdicts: Sequence[ContrastVerdict]) -> list[str]:
    """Why contrasts cannot be settled, each reason once: there may be many contrasts."""
    found: dict[str, list[str]] = {}
    for each in verdicts:
        if each.note:
            about = f"{each.axis}: {each.first} and {each.second} ({each.scorer})"
            found.setdefault(each.note, []).append(about)
    lines = []
    for note, contrasts in found.items():
        more = f" and {len(contrasts) - 1} more" if len(contrasts) > 1 else ""
        lines.append(f"cannot be settled early: {contrasts[0]}{more}: {note}")
    return lines


def _some(found: Sequence[CellResult], why: Any) -> list[str]:
    lines = [f"  {name_of(each)}: {_cut(why(each))}" for each in found[:MOST_NAMED]]
    more = len(found) - len(lines)
    return [*lines, f"  … and {more} more"] if more else lines


def name_of(result: CellResult) -> str:
    """A cell as people say it."""
    cell = result.cell
    return f"{cell.model} {cell.strategy} {cell.input} #{cell.repeat} ({result.id})"


def _score_error(result: CellResult) -> str:
    return next(f"{name}: {score.error}" for name, score in result.scores.items() if score.error)


def _verdict(verdict: ContrastVerdict) -> str:
    if verdict.decision == "same":
        return f"{verdict.axis}: {verdict.first} and {verdict.second} are the same"
    better, other = verdict.first, verdict.second
    if verdict.decision == "second":
        better, other = other, better
    return f"{verdict.axis}: {better} is better than {other} ({verdict.scorer})"


def describe_run(found: RecordedMatrix, *, fully: bool) -> list[str]:
    """A matrix for `fanwise show`: the summary, what failed; fully: every cell."""
    lines = summary_lines(found.results)
    if found.waiting:
        lines.append(f"{len(found.waiting)} cells have not been run")
    if fully:
        return [*lines, *(line for each in found.results for line in _cell_lines(each))]
    failed = [each for each in found.results if each.status == "failed"]
    return lines + _some(failed, lambda each: each.error or "")


def _cell_lines(result: CellResult) -> list[str]:
    scores = ", ".join(f"{name} {_score(score)}" for name, score in result.scores.items())
    said = result.error if result.answer is None else result.answer["text"]
    head = f"{name_of(result)}: {result.status}" + (f", {scores}" if scores else "")
    return [head, f"    {_cut(said or '')}"]


def _score(score: Score) -> str:
    return "failed" if score.score is None else f"{score.score:g}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_TEXT else f"{line[:MOST_TEXT]} …"
