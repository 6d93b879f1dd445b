"""The way through: recorded from a test run, varied, observed on both sides, compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.optimize.differential.support import Original

DEGREE = """
    def f(edges):
        near = {}
        for a, b in edges:
            near.setdefault(a, set()).add(b)
            near.setdefault(b, set()).add(a)
        best = None
        for node in near:
            if best is None or len(near[node]) > len(near[best]):
                best = node
        return best
"""
WRONG = """
    def f(edges):
        degree = {}
        for a, b in edges:
            degree[a] = degree.get(a, 0) + 1
            degree[b] = degree.get(b, 0) + 1
        return max(degree, key=degree.get) if degree else None
"""
RIGHT = """
    def f(edges):
        near = {}
        for a, b in edges:
            near.setdefault(a, set()).add(b)
            near.setdefault(b, set()).add(a)
        return max(near, key=lambda node: len(near[node])) if near else None
"""


@pytest.fixture(scope="module")
def degree(tmp_path_factory: pytest.TempPathFactory) -> Original:
    test = "from mod import f\nassert f([(1, 2), (2, 3)]) == 2\n"
    return Original(tmp_path_factory.mktemp("degree"), DEGREE, test)


def test_duplicates_that_are_counted_twice_are_found_though_no_test_has_any(
    degree: Original,
) -> None:
    found = degree.differs(WRONG)
    assert {each.kind for each in found} == {"value"}


def test_a_candidate_that_does_the_same_differs_nowhere(degree: Original, tmp_path: Path) -> None:
    assert degree.differs(RIGHT) == []
    assert len(degree.baseline.steady) > 50
    assert degree.baseline.problem == ""
