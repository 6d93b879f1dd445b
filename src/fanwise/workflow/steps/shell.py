"""`shell`: a line of shell, in the project's folder.

Values are parameters of the line, never parts of it, unless the author writes `| raw`. spec-kit
pastes them in, which runs what they contain; `--compat spec-kit` does as it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanwise.errors import StepFailed
from fanwise.processes import Command
from fanwise.processes.shell_line import place_values
from fanwise.workflow.expressions.json_text import read_json
from fanwise.workflow.spec.steps import ShellStep
from fanwise.workflow.state.frame import Frame
from fanwise.workflow.state.step_result import StepResult
from fanwise.workflow.steps.child import KEEP, run_child
from fanwise.workflow.steps.port import Resolved, StepPlace


class Shell:
    """Runs `sh -c`."""

    bounds_itself = True

    def __init__(self, *, compat: bool) -> None:
        self._compat = compat

    def resolve(self, step: ShellStep, frame: Frame) -> Resolved:
        """The line and its values. How these come into it is no part of what it does."""
        roots = frame.roots()
        line = [_pasted(step, roots)] if self._compat else [*step.run.marked(roots)]
        return {"line": line, "output_format": step.output_format}

    async def perform(self, step: ShellStep, resolved: Resolved, place: StepPlace) -> StepResult:
        """Run it; with `output_format: json` its stdout must be that."""
        line, *values = resolved["line"]
        command = Command(
            line if self._compat else place_values(line),
            *values,
            shell=True,
            cwd=str(place.project),
            env={"SPECKIT_WORKFLOW_DIR": str(place.folder)},
            keep=KEEP,
            check=False,
        )
        output = await run_child(command, step.timeout)
        if step.output_format == "json":
            output["data"] = _data(output)
        return StepResult("completed", output)

    def needs(self, step: ShellStep, resolved: Resolved, place: StepPlace) -> Mapping[str, int]:
        """None of its own."""
        return {}


def _pasted(step: ShellStep, roots: Mapping[str, Any]) -> str:
    return step.run.quoted_render(roots, str)


def _data(output: dict[str, Any]) -> Any:
    if output.get("stdout_truncated"):
        raise StepFailed(f"stdout has {output['stdout_size']} bytes, too many for JSON", output)
    try:
        return read_json(output["stdout"])
    except (ValueError, RecursionError) as error:
        raise StepFailed(f"stdout is no JSON: {error}", output) from error
