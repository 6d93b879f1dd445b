"""What the tests of workflow files share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from fanwise.errors import BadSpec, Problem
from fanwise.processes.shell_line import place_values
from fanwise.specs import Document, parse
from fanwise.workflow.expressions import Text
from fanwise.workflow.spec.workflow_file import LoadedWorkflow, load

HERE = Path("/project")
HEADER = 'schema_version: "1.0"\nworkflow: {id: w, name: W, version: 1.0.0}\n'
"""Two lines: what follows begins in line 3."""


def document(text: str, name: str = "w.yaml", folder: Path = HERE) -> Document:
    return parse(text.encode(), name, folder)


def file_of(steps: str, more: str = "") -> str:
    """A file with these steps, the first of which stands in line 4."""
    return HEADER + "steps:\n" + indent(dedent(steps).strip("\n"), "  ") + "\n" + dedent(more)


def workflow(steps: str, more: str = "", **options: Any) -> LoadedWorkflow:
    return load(document(file_of(steps, more)), **options)


def problems(text: str, **options: Any) -> list[Problem]:
    """All that is wrong with a file, each with its line and field."""
    with pytest.raises(BadSpec) as caught:
        load(document(text), **options)
    assert caught.value.file == "w.yaml"
    return caught.value.problems


def shell_words(text: Text, roots: Mapping[str, Any]) -> tuple[str, ...]:
    """A line of shell and its parameters, as a shell step runs them."""
    line, *values = text.marked(roots)
    return place_values(line), *values
