"""Core is pure: what it may import, and what may not stand in it."""

from __future__ import annotations

import ast
from pathlib import Path

import fanwise.core

ALLOWED = {
    "__future__", "collections", "collections.abc", "typing", "msgspec", "math", "difflib",
    "bisect", "copy", "heapq", "itertools", "re",
}  # fmt: skip


def modules() -> list[Path]:
    return sorted(Path(fanwise.core.__path__[0]).glob("*.py"))


def test_core_imports_no_clock_no_chance_no_files_no_loop() -> None:
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                ours = name.startswith("fanwise.core") or name == "fanwise.errors"
                assert ours or name in ALLOWED, f"{path.name} imports {name}"


def test_core_awaits_nothing_opens_nothing_prints_nothing() -> None:
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            assert not isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor), path.name
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"open", "print", "input", "exec", "eval"}, path.name


def test_core_keeps_no_state_in_modules() -> None:
    for path in modules():
        for node in ast.parse(path.read_text()).body:
            assert not isinstance(node, ast.Global)
            value = getattr(node, "value", None)
            assert not isinstance(value, ast.List | ast.Dict | ast.Set), f"{path.name}: mutable"
