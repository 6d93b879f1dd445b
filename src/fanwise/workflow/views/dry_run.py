"""What a workflow would do, step by step, with the values that are known before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fanwise.errors import UsageError
from fanwise.workflow.expressions import Text, Value
from fanwise.workflow.spec.steps import Step, WorkflowStep
from fanwise.workflow.spec.workflow_file import LoadedWorkflow

MOST = 100
"""Characters of a value that are shown."""


def lines_of(workflow: LoadedWorkflow, inputs: Mapping[str, Any] | None) -> list[str]:
    """Lines, those inside a step indented. `inputs`: None if nobody has given any."""
    roots = {} if inputs is None else {"inputs": inputs}
    ends = _lines(workflow.on_end, {}, 0)
    return [*_lines(workflow.steps, roots, 0), *(f"on_end: {line}" for line in ends)]


def _lines(steps: Iterable[Step], roots: Mapping[str, Any], depth: int) -> Iterator[str]:
    for step in steps:
        yield f"{'  ' * depth}{step.id} ({step.type}){_fields(step, roots)}"
        if isinstance(step, WorkflowStep):
            yield from _lines(step.target.steps, {}, depth + 1)
        for place, inner in step.inside():
            shown = _branch(place)
            for line in _lines([inner], roots, depth + 1):
                yield f"{'  ' * (depth + 1)}{shown}{line.lstrip()}" if shown else line
                shown = ""


def _branch(place: tuple[str | int, ...]) -> str:
    """Which part of its step it stands in, at its first step: `else: `."""
    names = [str(part) for part in place[:-1]]
    return f"{'.'.join(names)}: " if place[-1] == 0 and names != ["steps"] else ""


def _fields(step: Step, roots: Mapping[str, Any]) -> str:
    told = [f"{'.'.join(map(str, place))}={_shown(text, roots)}" for place, text in step.texts()]
    return f": {'  '.join(told)}" if told else ""


def _shown(text: Text | Value, roots: Mapping[str, Any]) -> str:
    """The value if it is known, else the source."""
    value: Any = text.source
    if all(path[0] in roots for path in text.names()):
        try:
            value = text.render(roots)
        except UsageError as error:
            value = f"{text.source} ({error})"
    line = " ".join(str(value).split())
    return line if len(line) <= MOST else f"{line[:MOST]}…"
