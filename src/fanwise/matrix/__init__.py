"""Matrix: models by strategies by inputs by repeats, each cell recorded once, compared in pairs."""

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
from fanwise.matrix.stats.options import AnalysisOptions
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
