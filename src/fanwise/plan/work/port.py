"""Who does the work of a leaf. A port: a command, a model, a function or a workflow.

All pass `tests/plan/work/test_contract.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from fanwise.errors import WorkFailed
from fanwise.plan.model.leaf_result import SubPlan, Try
from fanwise.plan.model.node import Node
from fanwise.plan.work.names import Names
from fanwise.workspaces import Workspace


class WorkRequest(msgspec.Struct, frozen=True, kw_only=True):
    """All that one try at a leaf depends on, beside what stands in the workspace."""

    leaf: Node
    goal: str
    files: tuple[str, ...]
    """Those that it may change, relative to the top of the repository."""
    shared: tuple[str, ...] = ()
    """Patterns of others that it may change, relative to the top too."""
    names: Names = Names()
    """How files are called where the work is done."""
    prompt: str
    """Goal, files, rules, context and feedback, in words."""
    context: str = ""
    """The part of the prompt that shows what the files import."""
    tries: tuple[Try, ...] = ()
    """Those before, which did not do."""
    depth_left: int = 0
    """So many levels of sub-plans may still come; 0: it may return none."""
    timeout: float | None = None
    """Seconds that the work may take."""
    again: bool = False
    """The edits of the try before are still in the workspace."""

    @property
    def here(self) -> tuple[str, ...]:
        """Its files, as they are called where the work is done."""
        return tuple(map(self.names.here, self.files))

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.leaf.id,
            "title": self.leaf.title,
            "goal": self.goal,
            "files": list(self.here),
            "prompt": self.prompt,
            "tries": msgspec.to_builtins(self.tries),
            "may_split": self.depth_left > 0,
        }


class WorkResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it, beside the edits in the workspace."""

    said: str = ""
    """The end of what it said, without secrets."""
    subplans: tuple[SubPlan, ...] = ()
    """Instead of edits; files as they are called at the top of the repository."""


class LeafWorker(Protocol):
    """Does the work. What it changes, it changes in the workspace."""

    @property
    def name(self) -> str:
        """Who it is, for people: the command, or the model."""

    @property
    def splitting(self) -> str:
        """How sub-plans are returned to it, as the prompt says; empty: they cannot be."""

    async def work(self, ask: WorkRequest, workspace: Workspace, scratch: Path) -> WorkResult:
        """Make one try, inside an item of a fan-out, whose caps and budget hold.

        `scratch` is a folder outside of the workspace, gone afterwards. A try that came to nothing
        is a `WorkFailed`, with what it said; so is one that took longer than `ask.timeout`, and
        then it has ended, as it has after a cancellation. Errors of the budget pass.
        """


@asynccontextmanager
async def in_time(seconds: float | None) -> AsyncIterator[None]:
    """Let a block take so long and no longer. `WorkFailed`."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise too_slow(seconds) from None


def too_slow(seconds: float | None, said: str = "") -> WorkFailed:
    return WorkFailed(f"it took longer than {seconds or 0:g} s, and was ended", said, cut_off=True)
