"""A workflow that does the work: `workflow: file`. Its commands run in the workspace.

Of these inputs it gets those that it declares: `prompt`, `prompt_file` (a file with the same),
`goal`, `id`, `title`, `files` (a list, as JSON), `try` (1, 2 …) and `subplans`, a file that it may
write instead of editing anything.

It is found in the registry, for systems do not import one another, and is executed inside the
leaf's item, under its own caps and budget and those around. A resume knows what it spent, and does
all of it again: its steps have changed files in a workspace, and that is gone then. Nor can it wait
for somebody.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from fanwise.errors import BudgetExceeded, FanwiseError, WorkFailed, one_line
from fanwise.kernel.in_run import as_a_part
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.run_inside import RunInside
from fanwise.plan.work.captured_output import tail
from fanwise.plan.work.port import LeafWorker, WorkRequest, WorkResult, in_time
from fanwise.plan.work.subplans import read_subplans
from fanwise.specs import Document, End, system
from fanwise.specs.system import runnable_of
from fanwise.workspaces import Workspace, environment

KEY = "workflow"
PAUSED = 3


class WorkflowWorker(LeafWorker):
    """Executes a document for each try. `BadSpec` for one that is no workflow."""

    def __init__(self, document: Document) -> None:
        self._document = document
        declared = document.data.get("inputs")
        self._declared = set(declared) if isinstance(declared, dict) else set()
        self._system = system(KEY)
        runnable_of(self._system, document, {})

    @property
    def name(self) -> str:
        return self._document.name

    @property
    def splitting(self) -> str:
        if "subplans" not in self._declared:
            return ""
        return "Instead of editing you may hand back parts of it, as JSON in the file `subplans`."

    async def work(self, ask: WorkRequest, workspace: Workspace, scratch: Path) -> WorkResult:
        subplans = scratch / "subplans.json"
        prompt = scratch / "prompt.md"
        await in_thread(prompt.write_bytes, ask.prompt.encode("utf-8", "surrogateescape"))
        given = {
            "prompt": ask.prompt,
            "prompt_file": str(prompt),
            "goal": ask.goal,
            "id": ask.leaf.id,
            "title": ask.leaf.title,
            "files": json.dumps(list(ask.here)),
            "try": str(len(ask.tries) + 1),
            "subplans": str(subplans),
        }
        async with in_time(ask.timeout):
            end = await self._end(given, workspace)
        said = tail("\n".join([*end.output, *end.notes]))
        if end.exit_code == PAUSED:
            raise WorkFailed(
                "it waits for an answer, and nobody can give one here", said, final=True
            )
        if end.exit_code != 0:
            raise WorkFailed(next(iter(end.notes), f"exit code {end.exit_code}"), said)
        return WorkResult(said=said, subplans=await in_thread(read_subplans, subplans, ask))

    async def _end(self, given: Mapping[str, str], workspace: Workspace) -> End:
        inputs = {name: value for name, value in given.items() if name in self._declared}
        try:
            around = {"project": str(workspace.path), "workspace": environment(workspace)}
            plan = runnable_of(self._system, self._document, {"input": inputs, **around})
            inside, caps, budget = RunInside(), plan.caps, plan.budget
            end, _, _ = await as_a_part(
                plan.execute, KEY, caps=caps, budget=budget, on=getattr(plan, "on", None),
                run=inside, name="work",
            )  # fmt: skip
            return end
        except BudgetExceeded:
            raise
        except FanwiseError as error:
            raise WorkFailed(tail(one_line(error), 500)) from error
