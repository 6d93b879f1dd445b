"""Works on one leaf: prompt, work, lease, verification, and further tries with feedback.

After a try that failed its verification, or was cut off by its time-out, the next one finds its
edits in the workspace and repairs them. After any other failure the next try starts in a new
workspace. Each try is told all earlier failures.

What the verification writes is not part of the change: that is taken before it runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Required, TypedDict, Unpack

from msgspec.structs import replace

from fanwise.errors import FanwiseError, SubPlanFailed, WorkFailed
from fanwise.kernel.confined import scratch_folder
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.stages import begin_stage
from fanwise.kernel.workspaces import workspace
from fanwise.plan.merge.trees import change_of
from fanwise.plan.model.leaf_result import (
    Blob,
    Change,
    EditRequest,
    LeafResult,
    Stage,
    SubPlan,
    Try,
)
from fanwise.plan.model.node import Node
from fanwise.plan.work.context import context, files_imported_by
from fanwise.plan.work.names import Names, names_of
from fanwise.plan.work.port import LeafSettings, LeafWorker, WorkRequest, WorkResult
from fanwise.plan.work.prompt import prompt
from fanwise.plan.work.settle import KeptEdits, UnusableWorkspace, check_folder, keep_patch, settle
from fanwise.plan.work.verify import NotVerified, Verified, judging_tests, settings_for, verify
from fanwise.plan.work.words import filled_text
from fanwise.workspaces import Workspace, WorkspacePool

_MOST_NAMED = 5
_MOST_REASON = 1_000
"""Characters: a reason may quote what somebody else wrote, however long that is."""


class LeafArguments(TypedDict, total=False):
    """What a leaf depends on, apart from where it is done.

    `owners` is the leaf of each file (`Tree.owners`); `at` the commit that it starts from, if it is
    not that of the pool. `before` are failures that it is told of and that are not its own tries:
    a conflict with others. `depth_left`: how many levels of sub-plans it may still return;
    `accepts` raises a `FanwiseError` for those that cannot be.
    """

    goal: Required[str]
    worker: Required[LeafWorker]
    how: Required[LeafSettings]
    owners: Required[Mapping[str, str]]
    at: str | None
    sparse: Sequence[str] | None
    before: Sequence[Try]
    depth_left: int
    accepts: Callable[[Sequence[SubPlan]], object]


async def do_leaf(leaf: Node, *, pool: WorkspacePool, **given: Unpack[LeafArguments]) -> LeafResult:
    """Work on the leaf, inside an item that holds a permit for a workspace. `SubPlanFailed`."""
    doing = _LeafTries(
        leaf, leaf.goal or given["goal"], given["worker"], given["how"], given["owners"],
        tuple(given.get("before", ())), given.get("depth_left", 0),
        given.get("accepts", lambda subplans: None),
    )  # fmt: skip
    while True:
        async with workspace(pool, at=given.get("at"), sparse=given.get("sparse")) as here:
            ended = await doing.tries_in(here)
        if ended is not None:
            return ended


class _Failed(Exception):
    """A try that failed. `anew`: the next one gets a new workspace."""

    def __init__(
        self, stage: Stage, reason: str, said: str = "", *, anew: bool, final: bool = False
    ) -> None:
        self.stage: Stage = stage
        self.reason = _shorten(" ".join(reason.split()))
        self.said = said
        self.anew = anew
        self.final = final
        super().__init__(reason)


class _LeafTries:
    def __init__(
        self,
        leaf: Node,
        goal: str,
        worker: LeafWorker,
        how: LeafSettings,
        owners: Mapping[str, str],
        before: tuple[Try, ...],
        depth_left: int,
        accepts: Callable[[Sequence[SubPlan]], object],
    ) -> None:
        self._leaf = leaf
        self._goal = goal
        self._worker = worker
        self._how = how
        self._owners = owners
        self._before = before
        self._depth_left = depth_left
        self._accepts = accepts
        self._tries: list[Try] = []
        self._requests: dict[str, EditRequest] = {}
        self._seconds = 0.0
        self._context: str | None = None

    async def tries_in(self, here: Workspace) -> LeafResult | None:
        """Tries in one workspace; None: the next one needs another. `SubPlanFailed`."""
        clock = asyncio.get_running_loop().time
        again = False
        while True:
            began = clock()
            try:
                ended = await self._once(here, again=again)
            except _Failed as failed:
                self._note(failed, clock() - began)
                if failed.final or len(self._tries) > self._how.retry:
                    await self._give_up(here)
                if failed.anew:
                    return None
                again = True
            else:
                self._seconds += clock() - began
                return self._told(ended)

    async def _once(self, here: Workspace, *, again: bool) -> LeafResult:
        worked = await self._work(here, again=again)
        settled = await self._settle(here)
        if worked.subplans:
            return self._split(worked, settled)
        if not settled.kept:
            return LeafResult(leaf=self._leaf.id, status="unchanged", said=worked.said)
        change = await in_thread(_change, here, self._leaf, settled.kept)
        verified = await self._verify(here, settled)
        return LeafResult(
            leaf=self._leaf.id, status="changed", change=change, verified=verified,
            said=worked.said,
        )  # fmt: skip

    async def _work(self, here: Workspace, *, again: bool) -> WorkResult:
        begin_stage("work", len(self._tries) + 1)
        ask = await in_thread(self._ask, here, again=again)
        async with scratch_folder(here) as scratch:
            try:
                return await self._worker.work(ask, here, scratch)
            except WorkFailed as error:
                raise _Failed(
                    "work", error.reason, error.said, anew=not error.cut_off, final=error.final
                ) from error

    def _ask(self, here: Workspace, *, again: bool) -> WorkRequest:
        how, names = self._how, names_of(here)
        if self._context is None:
            paths = files_imported_by(self._leaf.files, how.imports)
            declared = how.declarations.reader(here)
            self._context = context(paths, declared, tokens=how.context_tokens, names=names)
        tries = (*self._before, *self._tries)
        said = prompt(
            goal=self._goal,
            files=[names.here(path) for path in self._leaf.files],
            shared=how.shared,
            verify=self._verify_line(names),
            context=self._context,
            splitting=self._worker.splitting if self._depth_left > 0 else "",
            tries=tries,
            again=again,
            any_file=self._leaf.is_task,
        )
        return WorkRequest(
            leaf=self._leaf, goal=self._goal, files=self._leaf.files,
            shared=names.patterns(how.shared), names=names, prompt=said,
            context=self._context, tries=tries, depth_left=self._depth_left, timeout=how.timeout,
            again=again,
        )  # fmt: skip

    def _verify_line(self, names: Names) -> str:
        """The verification as the worker may run it, with this leaf's files and tests."""
        how, files = self._how, self._leaf.files
        if how.verify is None:
            return ""
        tests = judging_tests(files, how.imports, names.patterns(how.tests))
        return filled_text(
            how.verify,
            {"files": [*map(names.here, files)], "tests": [*map(names.here, tests)],
             "id": self._leaf.id},
        )  # fmt: skip

    async def _settle(self, here: Workspace) -> KeptEdits:
        shared = names_of(here).patterns(self._how.shared)
        try:
            settled = await in_thread(settle, here, self._leaf, shared=shared, owners=self._owners)
        except UnusableWorkspace as error:
            raise _Failed("edits", str(error), anew=True) from error
        self._requests.update({each.path: each for each in settled.requests})
        if settled.whole:
            name = f"{self._leaf.id[:12]}-requests-{len(self._tries) + 1}.patch"
            await in_thread(keep_patch, self._how.kept, name, settled.whole)
        return settled

    def _split(self, worked: WorkResult, settled: KeptEdits) -> LeafResult:
        if settled.kept:
            raise _Failed(
                "subplans",
                f"it returned sub-plans, but also changed {_paths_text(settled.kept)}: do only one",
                worked.said,
                anew=True,
            )
        try:
            self._accepts(worked.subplans)
        except FanwiseError as error:
            reason = getattr(error, "reason", str(error))
            raise _Failed("subplans", reason, worked.said, anew=True) from error
        return LeafResult(
            leaf=self._leaf.id, status="split", subplans=worked.subplans, said=worked.said
        )

    async def _verify(self, here: Workspace, settled: KeptEdits) -> Verified:
        how = self._how
        if how.verify is None:
            return "not asked"
        begin_stage("verify", len(self._tries) + 1)
        files = sorted({*self._leaf.files, *settled.kept})
        names = names_of(here)
        tests = judging_tests(files, how.imports, names.patterns(how.tests))
        try:
            return await verify(
                here, how.verify, tests=tests, files=files, leaf=self._leaf.id,
                names=names, settings=settings_for(how.timeout, how.env, sandbox=how.sandbox),
            )  # fmt: skip
        except NotVerified as error:
            clean = await in_thread(_clean_up, here, settled.kept)
            undone = _undone_text(settled)
            raise _Failed(
                "verify", f"{error.reason}{undone}", error.said, anew=not clean
            ) from error

    def _note(self, failed: _Failed, seconds: float) -> None:
        self._seconds += seconds
        self._tries.append(
            Try(stage=failed.stage, reason=failed.reason, said=failed.said, seconds=seconds)
        )

    async def _give_up(self, here: Workspace) -> None:
        kept = await in_thread(_keep, here, self._how, self._leaf.id)
        raise SubPlanFailed(self._leaf.id, self._leaf.title, self._tries, kept=kept)

    def _told(self, ended: LeafResult) -> LeafResult:
        requests = tuple(self._requests[path] for path in sorted(self._requests))
        tries = tuple(self._tries)
        return replace(ended, requests=requests, tries=tries, seconds=self._seconds)


def _change(here: Workspace, leaf: Node, kept: Sequence[str]) -> Change:
    try:
        found = change_of(here, leaf.id, leaf.title, kept)
        if not leaf.is_task:
            return replace(found, goal=leaf.goal)
        before = here.files_at_base()
        start = {path: Blob(*before[path]) if path in before else None for path in found.files}
        return replace(found, goal=leaf.goal, start=start)
    except (OSError, FanwiseError) as error:
        reason = f"what it changed cannot be read: {str(error)[:300]}"
        raise _Failed("edits", reason, anew=True) from error


def _clean_up(here: Workspace, kept: Sequence[str]) -> bool:
    """Remove what the verification has left; whether that went well."""
    try:
        check_folder(here)
        left = sorted(set(here.changed_files()) - set(kept))
        here.restore(left)
        return not set(here.changed_files()) - set(kept)
    except (OSError, FanwiseError, UnusableWorkspace):
        return False


def _keep(here: Workspace, how: LeafSettings, leaf: str) -> str | None:
    """Where the edits of a leaf that is given up are; None: there are none."""
    try:
        check_folder(here)
        patch = here.diff()
    except (OSError, FanwiseError, UnusableWorkspace):
        return None
    return keep_patch(how.kept, f"{leaf[:12]}.patch", patch) if patch else None


def _shorten(reason: str) -> str:
    return reason if len(reason) <= _MOST_REASON else f"{reason[:_MOST_REASON]}…"


def _undone_text(settled: KeptEdits) -> str:
    paths = [each.path for each in settled.requests]
    return f" (its edits in {_paths_text(paths)} were undone: not its files)" if paths else ""


def _paths_text(paths: Sequence[str]) -> str:
    shown = ", ".join(paths[:_MOST_NAMED])
    more = len(paths) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
