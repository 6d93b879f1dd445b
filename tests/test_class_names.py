"""One class name has one meaning in the whole project."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import fanwise

SOURCE = Path(fanwise.__file__).parent


def test_no_two_classes_have_the_same_name() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{file.relative_to(SOURCE)}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
