"""Workflows that run in tests: with steps of the test's own kind, and a journal in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fanwise import open_run
from fanwise.errors import StepFailed
from fanwise.journal.codec import JSON
from fanwise.journal.port import Journal
from fanwise.specs import Document, read
from fanwise.testing import MemoryJournal
from fanwise.workflow.run.options import RunOptions
from fanwise.workflow.runnable import RunnableWorkflow
from fanwise.workflow.spec.workflow_file import LoadedWorkflow, load
from fanwise.workflow.steps.gate import Ask
from fanwise.workflow.steps.kinds import Project
from fanwise.workflow.steps.port import StepPlace
from fanwise.workflow.views.text import Ending

from .support import document, file_of

Types = Mapping[str, Callable[..., Any]]


class World:
    """A project, a journal, and steps of type `do` that tell what they did."""

    def __init__(self, project: Path, journal: Journal | None = None, **types: Any) -> None:
        self.project = project
        self.journal: Journal = MemoryJournal() if journal is None else journal
        self.ran: list[str] = []
        """The paths of the steps that were performed."""
        self.cancelled: list[str] = []
        self.in_flight = 0
        self.peak = 0
        self.ask: Ask | None = None
        self.files: Mapping[str, str] = {}
        """What `workflow` steps may name, besides the files that are there."""
        self._types: Types = {"do": self.do, **types}

    async def do(self, fields: Mapping[str, Any], place: StepPlace) -> dict[str, Any]:
        """Takes `sleep` seconds, then fails if it is told to; gives `give`."""
        self.ran.append(place.path)
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            await asyncio.sleep(float(fields.get("sleep") or 0))
        except asyncio.CancelledError:
            self.cancelled.append(place.path)
            raise
        finally:
            self.in_flight -= 1
        output = {"gave": fields.get("give")}
        if fields.get("fail"):
            raise StepFailed(f"{place.path} was told to fail", output)
        return output

    def _load(self, steps: str, more: str) -> LoadedWorkflow:
        made = document(file_of(steps, more), folder=self.project)
        return load(made, types=self._types, read=self._read)

    def _read(self, path: Path) -> Document:
        if path.name in self.files:
            return document(self.files[path.name], path.name, path.parent)
        return read(path)

    def plan(self, steps: str, more: str = "", **asked: Any) -> RunnableWorkflow:
        project = Project(self.project, types=self._types)
        return RunnableWorkflow(self._load(steps, more), project, RunOptions(**asked), ask=self.ask)

    async def run(self, steps: str, more: str = "", **asked: Any) -> Ending:
        """A new run, called `r`."""
        return await self._execute(self.plan(steps, more, **asked), resume=False)

    async def resume(
        self, steps: str, more: str = "", *, retry_failed: bool = False, **asked: Any
    ) -> Ending:
        """Go on with it, as another process would."""
        spec = JSON.decode(self.journal.run("r").spec)
        plan = RunnableWorkflow(
            self._load(steps, more),
            Project(self.project, types=self._types),
            RunOptions(**asked),
            before=spec["inputs"],
            digests=spec["digests"],
            ask=self.ask,
        )
        return await self._execute(plan, resume=True, retry_failed=retry_failed)

    async def _execute(
        self, plan: RunnableWorkflow, *, resume: bool, retry_failed: bool = False
    ) -> Ending:
        run = open_run(
            "r",
            journal=self.journal,
            resume=resume,
            retry_failed=retry_failed,
            kind="workflow",
            spec=None if resume else plan.spec,
            caps=plan.caps,
            budget=plan.budget,
        )
        async with run:
            return await plan.ending(run)


def output(ending: Ending, path: str) -> Any:
    return ending.states[path]["output"]


def statuses(ending: Ending) -> dict[str, str]:
    return {path: str(state["status"]) for path, state in ending.states.items()}
