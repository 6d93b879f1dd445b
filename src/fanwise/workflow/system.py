"""`workflow:` in a file: spec-kit's workflows, and what fanwise adds to them.

What reads and runs files is imported where it is used: `fanwise show` needs only the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanwise.journal.codec import JSON
from fanwise.workflow.options import OPTIONS
from fanwise.workflow.state.run_state import read_run
from fanwise.workflow.views.tree import is_asking, tree_lines

if TYPE_CHECKING:
    from fanwise.journal.port import Journal, RunRecord
    from fanwise.specs import Document, Runnable
    from fanwise.specs.system import Assumed, End, Report
    from fanwise.view.flow_chart import FlowNode
    from fanwise.view.question import Question

KEY = "workflow"


class WorkflowSystem:
    """Steps in YAML, with gates, loops and fan-outs."""

    name = KEY
    replaces_default_view = True
    options = OPTIONS

    def runnable(self, document: Document, **options: Any) -> Runnable:
        from fanwise.workflow.run.options import RunOptions
        from fanwise.workflow.runnable import plan

        return plan(document, RunOptions(**options))

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its files."""
        from fanwise.workflow.spec.schema import workflow_schema

        return workflow_schema()

    def resume(self, spec: Mapping[str, Any], **options: Any) -> Runnable:
        """What the journal kept of it."""
        from fanwise.workflow.run.options import RunOptions
        from fanwise.workflow.runnable import again

        return again(spec, RunOptions(**options))

    def describe_run(self, journal: Journal, run: RunRecord, *, fully: bool) -> Sequence[str]:
        """The tree of its steps."""
        return list(tree_lines(read_run(journal, run), fully=fully))

    def questions(self, journal: Journal, run: RunRecord) -> Sequence[Question]:
        """The gates that wait for an answer."""
        from fanwise.view.question import Question

        waiting = [each for each in read_run(journal, run).steps.values() if is_asking(each)]
        return [
            Question(
                step.path,
                step.output["message"],
                {
                    choice: ("--answer", f"{step.path}={choice}")
                    for choice in step.output["options"]
                },
                step.output.get("show_file") or "",
            )
            for step in waiting
        ]

    def learn(self, journal: Journal, run: RunRecord) -> Any:
        """How often each step ran in that run, and how long it took."""
        from fanwise.workflow.views.graph import totals_of

        return totals_of(read_run(journal, run))

    def simulate(self, document: Document, assumed: Assumed, **options: Any) -> End:
        from fanwise.workflow.runnable import simulation

        given = options.get("input", ()), options.get("items", ())
        return simulation(document, assumed, *given).end()

    def report(self, journal: Journal, run: RunRecord) -> Report:
        from fanwise.workflow.views.page import report

        return report(journal, run)

    def flow(self, document: Document) -> Sequence[FlowNode]:
        from fanwise.workflow.spec.overlays import with_overlays
        from fanwise.workflow.spec.workflow_file import load
        from fanwise.workflow.steps.functions import names_of_project
        from fanwise.workflow.views.graph import flow_of

        document = with_overlays(document)
        loaded = load(document, lenient=True, types=names_of_project(Path.cwd()))
        files = {path: each.keep() for path, each in loaded.files().items()}
        return flow_of({**document.keep(), "files": files})

    def flow_of_run(self, journal: Journal, run: RunRecord) -> Sequence[FlowNode]:
        from fanwise.workflow.views.graph import flow_of

        return flow_of(JSON.decode(run.spec), read_run(journal, run))


SYSTEM = WorkflowSystem()
