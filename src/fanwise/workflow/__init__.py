"""Workflows: a YAML file of steps, with gates, loops, fan-out and fan-in."""

from typing import TYPE_CHECKING

from fanwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from fanwise.workflow.api import WorkflowResult, run_workflow, run_workflow_sync
    from fanwise.workflow.in_python import Workflow, step
    from fanwise.workflow.run.leaves import StepChanged
    from fanwise.workflow.state.run_state import StepState

__all__ = [
    "StepChanged",
    "StepState",
    "Workflow",
    "WorkflowResult",
    "run_workflow",
    "run_workflow_sync",
    "step",
]

_HOMES = {
    "api": ("WorkflowResult", "run_workflow", "run_workflow_sync"),
    "in_python": ("Workflow", "step"),
    "run.leaves": ("StepChanged",),
    "state.run_state": ("StepState",),
}

if not TYPE_CHECKING:  # else every misspelt name would be an `object` to mypy
    __getattr__ = lazy_names(__name__, _HOMES)
