"""Matrix: models by strategies by inputs by repeats, each cell recorded once, compared in pairs."""

from typing import TYPE_CHECKING

from fanwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from fanwise.matrix.answers.steps import Subject
    from fanwise.matrix.api import Matrix, MatrixResult, run_matrix, run_matrix_sync
    from fanwise.matrix.cells.cell import Cell
    from fanwise.matrix.spec.blocks import (
        command,
        constant,
        copy_of,
        exact,
        f1,
        json_match,
        judge,
        prompt,
        regex,
        steps,
    )
    from fanwise.matrix.state.results import CellResult, Score
    from fanwise.matrix.stats.compare import Contrast
    from fanwise.matrix.stats.data import AnalysisOptions
    from fanwise.matrix.stats.summary import Summary

__all__ = [
    "AnalysisOptions",
    "Cell",
    "CellResult",
    "Contrast",
    "Matrix",
    "MatrixResult",
    "Score",
    "Subject",
    "Summary",
    "command",
    "constant",
    "copy_of",
    "exact",
    "f1",
    "json_match",
    "judge",
    "prompt",
    "regex",
    "run_matrix",
    "run_matrix_sync",
    "steps",
]

_HOMES = {
    "answers.steps": ("Subject",),
    "api": ("Matrix", "MatrixResult", "run_matrix", "run_matrix_sync"),
    "cells.cell": ("Cell",),
    "spec.blocks": (
        "command",
        "constant",
        "copy_of",
        "exact",
        "f1",
        "json_match",
        "judge",
        "prompt",
        "regex",
        "steps",
    ),
    "state.results": ("CellResult", "Score"),
    "stats.compare": ("Contrast",),
    "stats.data": ("AnalysisOptions",),
    "stats.summary": ("Summary",),
}

if not TYPE_CHECKING:  # else every misspelt name would be an `object` to mypy
    __getattr__ = lazy_names(__name__, _HOMES)
