"""The reference is generated from the docstrings, and committed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_reference_is_what_the_docstrings_say() -> None:
    wanted: dict[str, str] = _generator().pages()
    committed = {path.name: path.read_text() for path in (DOCS / "reference").iterdir()}
    for name in sorted(wanted.keys() | committed.keys()):
        if wanted.get(name) != committed.get(name):
            pytest.fail(f"docs/reference/{name} is out of date: run `make docs`, and commit it")
