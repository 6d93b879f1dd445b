"""Expressions are pure: data in, a value out. No clock, no chance, no files, nothing evaluated."""

from __future__ import annotations

import ast
from pathlib import Path

import fanwise.workflow.expressions

ALLOWED = {
    "__future__", "collections.abc", "typing", "msgspec", "math", "operator", "json", "re",
    "fanwise.errors", "fanwise.processes.shell_line",
}  # fmt: skip
FORBIDDEN = {"eval", "exec", "compile", "getattr", "open", "print", "__import__"}


def test_expressions_import_nothing_that_acts_and_call_nothing_that_evaluates() -> None:
    files = sorted(Path(fanwise.workflow.expressions.__path__[0]).glob("*.py"))
    assert len(files) > 6
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= ALLOWED, path.name
            elif isinstance(node, ast.ImportFrom):
                name = node.module or ""
                ours = name.startswith("fanwise.workflow.expressions")
                assert ours or name in ALLOWED, f"{path.name} imports {name}"
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in FORBIDDEN, f"{path.name} calls {node.func.id}"
