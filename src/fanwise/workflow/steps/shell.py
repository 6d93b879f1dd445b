"""`shell`: a line of shell, in the project's folder; and `map`: a program, once for each item.

Values are parameters of the line, never parts of it, unless the author writes `| raw`. spec-kit
pastes them in, which runs what they contain; `--compat spec-kit` does as it does.
"""

from __future__ import annotations

import re
from typing import Any

from fanwise.errors import StepFailed
from fanwise.processes.shell_line import place_values
from fanwise.workflow.expressions.values import read_json
from fanwise.workflow.spec.steps import EachStep, ShellStep
from fanwise.workflow.state.frame import Frame
from fanwise.workflow.state.step_result import StepResult
from fanwise.workflow.steps.child import run_child, surroundings
from fanwise.workflow.steps.port import Leaf, Resolved, StepPlace

_NUMBER = re.compile(r"-?[0-9]*(\.[0-9]+)?|True|False")


class ShellLeaf(Leaf[ShellStep]):
    """Runs `sh -c`."""

    bounds_itself = True

    def __init__(self, *, compat: bool) -> None:
        self._compat = compat

    def resolve(self, step: ShellStep, frame: Frame) -> Resolved:
        """The line and its values. How these come into it is no part of what it does."""
        roots = frame.roots()
        line = [step.run.quoted_render(roots, str)] if self._compat else [*step.run.marked(roots)]
        fields = {"line": line, "output_format": step.output_format}
        return {**fields, **surroundings(step, roots)}

    async def perform(self, step: ShellStep, resolved: Resolved, place: StepPlace) -> StepResult:
        """Run the line; `output_format: json` parses its stdout."""
        line, *values = resolved["line"]
        line = line if self._compat else place_values(line, holding=_holding(step, resolved))
        output = await run_child(
            line, *values, place=place, timeout=step.timeout, around=resolved, shell=True
        )
        if step.output_format == "json":
            output["data"] = _data(output)
        return StepResult("completed", output)


class MapLeaf(Leaf[EachStep]):
    """Runs the command of a `map` step for one item. There is no shell, so an item is only data."""

    bounds_itself = True

    def resolve(self, step: EachStep, frame: Frame) -> Resolved:
        """Its arguments, each as text."""
        roots = frame.roots()
        words = [text.quoted_render(roots, str) for text in step.argv]
        return {"argv": words, **surroundings(step, roots)}

    async def perform(self, step: EachStep, resolved: Resolved, place: StepPlace) -> StepResult:
        output = await run_child(
            *resolved["argv"], place=place, timeout=step.timeout, around=resolved
        )
        return StepResult("completed", output)


def _holding(step: ShellStep, resolved: Resolved) -> list[str]:
    """The variables of `env` that hold a value: a number may stand anywhere."""
    given = resolved.get("env", {})
    made = (name for name, value in step.env.items() if value.expressions)
    return [name for name in made if not _NUMBER.fullmatch(given[name])]


def _data(output: dict[str, Any]) -> Any:
    if output.get("stdout_truncated"):
        raise StepFailed(f"stdout has {output['stdout_size']} bytes, too many for JSON", output)
    try:
        return read_json(output["stdout"])
    except (ValueError, RecursionError) as error:
        raise StepFailed(f"stdout is not JSON: {error}", output) from error
