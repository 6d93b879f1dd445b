"""A whole run, with pytest and the calls that it makes: what is right and fast wins."""

from __future__ import annotations

from pathlib import Path

from tests.optimize.project import (
    ANNOTATED,
    BROKEN,
    COMMENT,
    FAST,
    PYTEST,
    WRONG,
    give,
    judge,
    make_project,
)
from tests.optimize.support import code, unchanged

NO_TEST = code("""
    # path: tests/test_graph.py
    def test_star(): pass
""")


def test_the_right_and_fast_one_wins_and_nothing_of_the_users_is_touched(tmp_path: Path) -> None:
    repo = make_project(tmp_path / "project")
    give(
        tmp_path, a_fast=FAST, b_wrong=WRONG, c_annotated=ANNOTATED, d_broken=BROKEN,
        e_comment=COMMENT, f_no_python="def most_linked(edges:\n", g_no_test=NO_TEST,
    )  # fmt: skip
    with unchanged(repo):
        result = judge(tmp_path, test=PYTEST)
    told = {Path(each.candidate.name).stem: each for each in result.verdicts}
    assert [(name, each.status, each.stage) for name, each in told.items()] == [
        ("a_fast", "accepted", "benchmark"),
        ("b_wrong", "rejected", "differential"),
        ("c_annotated", "same", "benchmark"),
        ("d_broken", "rejected", "test"),
        ("e_comment", "same", "compile"),
        ("f_no_python", "rejected", "apply"),
        ("g_no_test", "same", "compile"),
    ], result.table()
    assert result.winner == told["a_fast"]
    assert result.winner.speed is not None
    assert result.winner.speed.low > 1.3

    # Falls short 1: it passes the tests, and is faster; another value is enough to reject it.
    wrong = told["b_wrong"].difference
    assert wrong is not None
    assert wrong.call.startswith("most_linked(")
    assert wrong.got != wrong.expected

    # Falls short 6: what runs as a test cannot be taken away, and what changed its judges is said.
    assert "test_star" in told["d_broken"].reason
    assert "tests/test_graph.py" in told["g_no_test"].findings[0].reason
    assert told["c_annotated"].same_as == told["a_fast"].candidate.key
    assert result.noise["pairs"] > 0
    compared = [each.calls for each in told["a_fast"].findings if each.stage == "differential"]
    assert compared[0] is not None
    assert compared[0] > 100, "the report shows how many calls were compared"
