"""Matrix: models by strategies by inputs by repeats, each cell recorded once, compared in pairs."""

from fanwise.matrix.api import Matrix, MatrixResult, run_matrix, run_matrix_sync
from fanwise.matrix.cells import Cell
from fanwise.matrix.compare import Contrast
from fanwise.matrix.options import AnalysisOptions
from fanwise.matrix.results import CellResult, Score
from fanwise.matrix.summary import Summary
from fanwise.matrix.work import Subject

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
    "run_matrix",
    "run_matrix_sync",
]
