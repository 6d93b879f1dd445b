"""Who does the work of a leaf. A port: a command, a model, a function or a workflow.

All pass `tests/plan/work/test_contract.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from fanwise.errors import WorkFailed
from fanwise.plan.model.leaf_result import SubPlan, Try
from fanwise.plan.model.node import Node
from fanwise.plan.work.names import Names
from fanwise.plan.work.signatures import Declarations
from fanwise.workspaces import Workspace


class WorkRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one try at a leaf depends on, except the files in the workspace."""

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
    """Earlier tries that failed."""
    depth_left: int = 0
    """How many levels of sub-plans may still follow; 0: it may return none."""
    timeout: float | None = None
    """Seconds that the work may take."""
    again: bool = False
    """The edits of the try before are still in the workspace."""

    @property
    def here(self) -> tuple[str, ...]:
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


class LeafSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How all leaves of a plan are worked on: what the file says, and what the split knows."""

    kept: Path
    """The folder for what is too big for the journal: edits of leaves that were given up."""
    imports: Mapping[str, tuple[str, ...]] = {}
    """Of each file, those that it imports."""
    shared: tuple[str, ...] = ()
    """Patterns of files that every leaf may change, relative to the folder of the plan."""
    retry: int = 1
    """Further tries after the first."""
    timeout: float | None = None
    """Seconds, for the work of each try and for each verification."""
    verify: str | None = None
    """A line for the shell; see `verify.py` for what it may name."""
    tests: tuple[str, ...] = ()
    """Patterns of test files; none: by the customs of each language."""
    sandbox: bool = True
    """Around the verification, where there is one."""
    env: tuple[str, ...] = ()
    """Variables that the verification needs, beside those that carry no secrets."""
    declarations: Declarations = msgspec.field(default_factory=Declarations)
    """What files declare, as far as it was read."""
    context_tokens: int = 4_000
    """The most that the prompt shows of what the files import."""


class WorkResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a try, apart from the edits in the workspace."""

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
        """How the prompt says to return sub-plans; empty: they cannot be returned."""

    async def work(self, ask: WorkRequest, workspace: Workspace, scratch: Path) -> WorkResult:
        """Make one try, inside an item of a fan-out, whose caps and budget hold.

        `scratch` is a folder outside of the workspace, gone afterwards. A try that came to nothing
        is a `WorkFailed`, with what it said; so is one that took longer than `ask.timeout`, and
        then it has ended, as it has after a cancellation. Errors of the budget pass.
        """


@asynccontextmanager
async def in_time(seconds: float | None) -> AsyncIterator[None]:
    """Limit the time of a block. `WorkFailed`."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise too_slow(seconds) from None


def too_slow(seconds: float | None, said: str = "") -> WorkFailed:
    return WorkFailed(f"it took longer than {seconds or 0:g} s, and was ended", said, cut_off=True)
