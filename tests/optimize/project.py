"""A small project with a slow function, and candidates for it: what whole runs are tested on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fanwise.optimize import OptimizeResult, optimize_sync
from tests.optimize.support import code, make_repo
from tests.workspaces.support import write

TARGET = "src/pkg/graph.py::most_linked"
SCRIPT = "python tests/run.py"
"""Without pytest: it starts ten times as fast."""
PYTEST = "python -m pytest -q -p no:cacheprovider tests"
GRAPH = code('''
    """Graphs."""


    def most_linked(edges):
        """The node with the most edges; of several the first."""
        edges = list(edges)
        nodes = []
        for a, b in edges:
            for node in (a, b):
                if node not in nodes:
                    nodes.append(node)
        best, most = None, 0
        for node in nodes:
            count = 0
            for a, b in edges:
                if a == node or b == node:
                    count += 1
            if count > most:
                best, most = node, count
        return best
''')
TESTS = code("""
    from pkg.graph import most_linked


    def test_star():
        assert most_linked([(0, n) for n in range(1, 120)]) == 0


    def test_chain():
        assert most_linked([(n, n + 1) for n in range(120)]) == 1


    def test_empty():
        assert most_linked([]) is None
""")
RUN = code("""
    import test_graph

    for name in dir(test_graph):
        if name.startswith("test_"):
            getattr(test_graph, name)()
""")
ORIGINAL = GRAPH.partition("\n\n\n")[2]
FAST = code("""
    def most_linked(edges):
        edges = list(edges)
        counts = {}
        try:
            for a, b in edges:
                counts[a] = counts.get(a, 0) + 1
                if b != a:
                    counts[b] = counts.get(b, 0) + 1
        except TypeError:
            return slowly(edges)
        best, most = None, 0
        for node, count in counts.items():
            if count > most:
                best, most = node, count
        return best


    def slowly(edges):
        nodes = []
        for a, b in edges:
            for node in (a, b):
                if node not in nodes:
                    nodes.append(node)
        best, most = None, 0
        for node in nodes:
            count = sum(a == node or b == node for a, b in edges)
            if count > most:
                best, most = node, count
        return best
""")
"""Right: nodes that cannot be hashed go the old way."""
WRONG = FAST.replace("if b != a:", "if True:")
"""Counts a loop twice. The tests have none."""
ANNOTATED = FAST.replace("    best, most", "    # the first of the most linked\n    best, most", 1)
BROKEN = FAST.replace("best, most = None, 0", "best, most = None, 1000")
COMMENT = ORIGINAL.replace("\n    nodes", "\n    # the nodes\n    nodes", 1)


def make_project(folder: Path, **files: str) -> Path:
    """The repository."""
    return make_repo(
        folder,
        {
            "src/pkg/__init__.py": "",
            "src/pkg/graph.py": GRAPH,
            "tests/test_graph.py": TESTS,
            "tests/run.py": RUN,
            ".gitignore": "__pycache__/\n.fanwise/\n",
            **files,
        },
    )


def give(folder: Path, **candidates: str) -> Path:
    """Write candidates as files, outside of the repository: `fast=…` is `fast.py`."""
    for name, text in candidates.items():
        write(folder / "candidates" / f"{name}.py", text)
    return folder


def judge(folder: Path, **more: Any) -> OptimizeResult:
    """Run them; what is many times as fast is decided long before the budget ends."""
    fields: Mapping[str, Any] = {**more.pop("fields", {})}
    given: dict[str, Any] = {
        "repo": "project",
        "folder": folder,
        "cap": 2,
        "bench": {"calls": "recorded", "budget": "60s"},
        "fields": fields,
        **more,
    }
    target = given.pop("target", TARGET)
    candidates = given.pop("candidates", "candidates/*")
    return optimize_sync(target, candidates, given.pop("test", SCRIPT), **given)
