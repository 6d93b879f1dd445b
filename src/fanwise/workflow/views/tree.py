"""The steps of a run as a tree: how each ended, and how long it took."""

from __future__ import annotations

from collections.abc import Iterator

from fanwise.view.run_summary import duration
from fanwise.view.terminal_text import terminal_line
from fanwise.workflow.state.run_state import StepState, WorkflowState

MOST = 20
"""Steps inside one that are shown, if not all are wanted."""


def tree_lines(
    state: WorkflowState, *, fully: bool, path: str = "", depth: int = 0
) -> Iterator[str]:
    """For `fanwise show`: the steps inside one, each with its own below it."""
    children = state.inside.get(path, [])
    shown = children if fully else children[:MOST]
    width = max((len(step.path) for step in shown), default=0)
    for step in shown:
        yield f"{'  ' * depth}{step.path:<{width}}  {_described(step)}".rstrip()
        yield from tree_lines(state, fully=fully, path=step.path, depth=depth + 1)
    if len(shown) < len(children):
        yield f"{'  ' * depth}… and {len(children) - MOST:,} more (all of them: --items)"


def _described(step: StepState) -> str:
    error = step.error or _question(step)
    error = f"  {terminal_line(error)}" if error else ""
    return f"{step.type:<8}  {step.status:<9}  {duration(step.took)}{error}"


def is_asking(step: StepState) -> bool:
    """Whether it is a gate that waits for an answer."""
    return step.type == "gate" and step.status == "paused"


def _question(step: StepState) -> str | None:
    """The answer that a gate waits for, as it can be typed."""
    if not is_asking(step):
        return None
    options = "|".join(step.output["options"])
    return f"waits for --answer {step.path}={options}: {step.output['message']}"
