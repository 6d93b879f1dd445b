"""Workflows: a YAML file of steps, with gates, loops, fan-out and fan-in."""

from fanwise.workflow.api import WorkflowResult, run_workflow, run_workflow_sync

__all__ = ["WorkflowResult", "run_workflow", "run_workflow_sync"]
