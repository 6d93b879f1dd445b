"""Whether a candidate is correct: stages, the cheap ones first, in the candidate's workspace."""

from fanwise.kernel.confined.ending import ending_of, hint_of
from fanwise.kernel.confined.running import run_in_workspace, scratch_folder
from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.checking.applying import check_applies
from fanwise.optimize.checking.compiling import check_compiles
from fanwise.optimize.checking.finding import Finding
from fanwise.optimize.checking.report import TestReport, test_files, unusable
from fanwise.optimize.checking.testing import baseline_report, check_tests, test_report

__all__ = [
    "Finding",
    "Settings",
    "TestReport",
    "baseline_report",
    "check_applies",
    "check_compiles",
    "check_tests",
    "ending_of",
    "hint_of",
    "run_in_workspace",
    "scratch_folder",
    "test_files",
    "test_report",
    "unusable",
]
