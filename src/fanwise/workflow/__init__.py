"""Workflows: a YAML file of steps, with gates, loops, fan-out and fan-in."""

from typing import TYPE_CHECKING

from fanwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from fanwise.workflow.api import WorkflowResult, run_workflow, run_workflow_sync

__all__ = ["WorkflowResult", "run_workflow", "run_workflow_sync"]

_HOMES = {
    "api": ("WorkflowResult", "run_workflow", "run_workflow_sync"),
}

if not TYPE_CHECKING:  # else every misspelt name would be an `object` to mypy
    __getattr__ = lazy_names(__name__, _HOMES)
