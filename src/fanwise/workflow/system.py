"""`workflow:` in a file: spec-kit's workflows, and what fanwise adds to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fanwise.journal.port import Journal, RunRecord
from fanwise.specs import Document, Runnable
from fanwise.workflow.options import OPTIONS
from fanwise.workflow.run.options import RunOptions
from fanwise.workflow.runnable import again, plan
from fanwise.workflow.views.tree import tree_lines

KEY = "workflow"


class WorkflowSystem:
    """Steps in YAML, with gates, loops and fan-outs."""

    name = KEY
    replaces_default_view = True
    options = OPTIONS

    def runnable(self, document: Document, **options: Any) -> Runnable:
        """A file, checked completely."""
        return plan(document, RunOptions(**options))

    def resume(self, spec: Mapping[str, Any], **options: Any) -> Runnable:
        """What the journal kept of it."""
        return again(spec, RunOptions(**options))

    def describe_run(self, journal: Journal, run: RunRecord, *, fully: bool) -> Sequence[str]:
        """The tree of its steps."""
        return tree_lines(journal, run, fully=fully)


SYSTEM = WorkflowSystem()
