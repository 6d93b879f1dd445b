"""What the items of a run do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace

from fanwise.errors import CommandFailed
from fanwise.kernel.confined import ending_of, hint_of, run_in_workspace, scratch_folder
from fanwise.kernel.fan_out import fan_out
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.sent_workspaces import SentRepository
from fanwise.kernel.workspaces import workspace
from fanwise.plan.merge.publish import branch_name, leave
from fanwise.plan.merge.step import Signature, author_of, merge_step
from fanwise.plan.merge.trees import commit_with
from fanwise.plan.model.leaf_result import LeafResult, SubPlan, Try
from fanwise.plan.model.merge_result import Conflict, MergeCheck, MergeStep, PublishedResult
from fanwise.plan.model.node import Node, Tree
from fanwise.plan.run.leaf_away import do_leaf_away
from fanwise.plan.spec.resolved_plan import ResolvedPlan
from fanwise.plan.state.plan_item import LEAF_FAN_OUT, PlanItem
from fanwise.plan.work.captured_output import output_of
from fanwise.plan.work.leaf import LeafArguments, do_leaf
from fanwise.plan.work.names import Names
from fanwise.plan.work.port import LeafSettings
from fanwise.plan.work.sparse_folders import SparseFolders, code_beside, is_sparse
from fanwise.plan.work.verify import judging_tests, settings_for
from fanwise.workspaces import WorkspacePool
from fanwise.workspaces.git import Git

START = "What the sub-plans before this one have changed"


class PlanItemWork:
    """Performs items in the workspaces of a run.

    `tree` returns the sub-plans as they are now, `grow` adds some if it can. `tell` has what the
    user told sub-plans, by their ids. Without a pool, nothing is left to do that needs one.
    `sent`: the repository for workers, which then do the sub-plans.
    """

    def __init__(
        self,
        resolved: ResolvedPlan,
        pool: WorkspacePool | None,
        folder: Path,
        *,
        tree: Callable[[], Tree],
        grow: Callable[[Tree, str, Sequence[SubPlan]], Tree],
        tell: Mapping[str, str] = MappingProxyType({}),
        sent: SentRepository | None = None,
    ) -> None:
        self._case = resolved
        self._workspaces = pool
        self._folder = folder
        self._tree = tree
        self._grow = grow
        self._tell = tell
        self._sent = sent
        spec, split = resolved.spec, resolved.base.split
        self._how = LeafSettings(
            kept=folder,
            imports=split.imports,
            shared=spec.shared,
            retry=spec.retry,
            timeout=spec.timeout,
            verify=spec.verify,
            tests=spec.tests,
            sandbox=spec.sandbox,
            env=spec.env,
        )
        self._cones = (
            sparse_folders_of(resolved) if is_sparse(spec.sparse, resolved.base.files) else None
        )

    @property
    def _pool(self) -> WorkspacePool:
        assert self._workspaces is not None, "all that needs one was known"
        return self._workspaces

    async def perform(self, item: PlanItem) -> Any:
        return msgspec.to_builtins(replace(await self._perform(item), of=item.of))

    async def _perform(self, item: PlanItem) -> Any:
        if item.kind == "merge":
            return await self._merge(item)
        if item.kind == "check":
            return await self._check(item)
        if item.kind == "result":
            return await self._leave(item)
        return await self._within_budget(item)

    async def _merge(self, item: PlanItem) -> MergeStep:
        spec, git, base = self._case.spec, self._case.git, self._case.base.commit
        signed = Signature(goal=spec.goal, author=await in_thread(author_of, git))
        args = (git, base, item.changes, signed)
        return await in_thread(merge_step, *args, on_top=item.on_top)

    async def _leave(self, item: PlanItem) -> PublishedResult:
        resolved = self._case
        assert item.step is not None
        branch = branch_name(resolved.tree.root.id) if resolved.spec.result == "branch" else None
        args = (resolved.repo, resolved.base.commit, item.step, branch, self._folder)
        return await in_thread(leave, *args, item.left_out)

    async def _within_budget(self, item: PlanItem) -> LeafResult:
        """A sub-plan; what it spends counts against its own budget too, if it has one."""
        given = self._case.spec.each.budget
        if given is None:
            return await self._leaf(item)

        async def once(_: str) -> Any:
            return msgspec.to_builtins(await self._leaf(item))

        budget = given.make()
        # Its key says what it is of: with another beginning it is another.
        found = await fan_out(once, [item.of], cap=1, key=str, name=LEAF_FAN_OUT, budget=budget)
        return msgspec.convert(found[0].unwrap(), LeafResult)

    async def _leaf(self, item: PlanItem) -> LeafResult:
        leaf = item.leaf
        assert leaf is not None
        resolved, again = self._case, item.kind == "again"
        at = item.at
        if item.before:
            at = await in_thread(_start_of, resolved.git, item)
        given = LeafArguments(
            goal=resolved.spec.goal,
            worker=resolved.worker_of(leaf),
            how=self._how,
            owners=self._tree().owners,
            at=at,
            sparse=self._cone(leaf),
            before=[*self._told(leaf), *(self._try_of(each) for each in item.conflicts)],
            depth_left=0 if again or leaf.is_task else resolved.spec.split.max_depth - leaf.depth,
        )
        if self._sent is not None:
            if given["depth_left"] > 0:
                given["accepts"] = partial(self._grow, self._tree(), leaf.id)
            return await do_leaf_away(self._sent, resolved.git, leaf, **given)
        given["accepts"] = lambda subplans: self._grow(self._tree(), leaf.id, subplans)
        return await do_leaf(leaf, pool=self._pool, **given)

    def _cone(self, leaf: Node) -> Sequence[str]:
        if self._cones is None:
            return ()
        if self._how.verify is None:
            return self._cones.of(leaf.files, ())
        patterns = Names(self._case.place.inside).patterns(self._how.tests)
        return self._cones.of(leaf.files, judging_tests(leaf.files, self._how.imports, patterns))

    def _told(self, leaf: Node) -> list[Try]:
        """What the user has to say to it."""
        text = self._tell.get(leaf.id)
        return [] if text is None else [Try(stage="user", reason=text)]

    def _try_of(self, conflict: Conflict) -> Try:
        """Describe a conflict as a failed try, for the second run of a leaf."""
        titles = [self._tree().by_id[each].title for each in conflict.others]
        return Try(
            stage="merge",
            reason=f"its changes are in conflict ({conflict.kind}) with those of "
            f"{', '.join(titles)} in {', '.join(conflict.paths)}; what they changed is in the "
            "files now: make your change to these",
            said=conflict.detail,
        )

    async def _check(self, item: PlanItem) -> MergeCheck:
        """Run the check on the merged commit, in a full checkout."""
        spec = self._case.spec
        assert spec.check_ is not None
        settings = settings_for(None, spec.env, sandbox=spec.sandbox)
        clock = asyncio.get_running_loop().time
        async with workspace(self._pool, at=item.at, sparse=()) as here:
            began = clock()
            async with scratch_folder(here) as scratch:
                try:
                    result = await run_in_workspace(here, spec.check_, settings, scratch=scratch)
                except CommandFailed as error:
                    return MergeCheck(passed=False, said=error.message, without=item.without)
        said = output_of(result)
        why = "" if result.ok else ending_of(result, settings) or hint_of(said)
        return MergeCheck(
            passed=result.ok and not ending_of(result, settings),
            said=f"{said}\n{why}".strip() if why else said,
            seconds=clock() - began,
            without=item.without,
        )


def _start_of(git: Git, item: PlanItem) -> str:
    """The commit with the changes that a leaf begins with. Those of tasks may be in one file."""
    assert item.leaf is not None
    if item.leaf.is_task:
        step = merge_step(git, item.at, item.before, Signature(goal=START))
        if not step.merged.conflicts:
            return step.commit
    return commit_with(git, item.at, item.before, START)


def sparse_folders_of(resolved: ResolvedPlan) -> SparseFolders:
    spec, inside = resolved.spec, resolved.place.inside
    asked = spec.sparse if isinstance(spec.sparse, tuple) else ()
    further = {f"{inside}/{each}" if inside else each for each in asked}
    runs = spec.verify is not None
    if runs:
        command = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", resolved.base.commit)
        further |= code_beside(resolved.git.names(*command), resolved.base.digests)
    return SparseFolders(resolved.base.split.imports, further, runs=runs)
