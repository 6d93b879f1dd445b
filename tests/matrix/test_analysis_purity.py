"""The analysis decides and performs nothing, and needs no heavy import."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import fanwise.matrix

HERE = Path(fanwise.matrix.__path__[0])
PURE = (
    *(f"stats.{each.stem}" for each in sorted((HERE / "stats").glob("*.py"))),
    "scores.formulas",
)
ALLOWED = {
    "__future__", "collections", "collections.abc", "hashlib", "itertools", "json", "math",
    "msgspec", "operator", "re", "statistics", "string", "typing",
    "unicodedata",
}  # fmt: skip


@pytest.mark.parametrize("name", PURE)
def test_the_analysis_imports_no_clock_no_files_no_loop(name: str) -> None:
    tree = ast.parse((HERE / f"{name.replace('.', '/')}.py").read_text())
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for module in names:
            own = module.removeprefix("fanwise.matrix.") in PURE
            own |= module in ("fanwise.errors", "fanwise.core.counts", "fanwise.core.lag")
            assert own or module in ALLOWED, f"{name} imports {module}"
