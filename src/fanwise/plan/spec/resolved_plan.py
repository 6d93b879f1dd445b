"""What a file comes to when it meets the repository: all that can be found before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath

import msgspec

from fanwise.core.caps import Caps
from fanwise.plan.merge.publish import check_result
from fanwise.plan.model.digest import digest
from fanwise.plan.model.node import Node, Split, Tree
from fanwise.plan.spec.plan_spec import RESERVED, PlanBase, PlanSpec
from fanwise.plan.spec.tasks import read_tasks, split_of_tasks
from fanwise.plan.spec.workers import agent_of, check_words, worker_of, workflow_of
from fanwise.plan.split import files_at, split
from fanwise.plan.split.files import past_commits
from fanwise.plan.work.port import LeafWorker
from fanwise.specs import Where
from fanwise.workspaces.copies import matching
from fanwise.workspaces.git import Git
from fanwise.workspaces.source import Place, Start, find, start_of
from fanwise.workspaces.sparse import FILES_ONLY

SPARE = 10
"""So many workspaces there may be, although there are fewer leaves: these may return sub-plans."""


class ResolvedPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done, and where."""

    spec: PlanSpec
    repo: Path
    place: Place
    base: PlanBase
    worker: LeafWorker
    agents: Mapping[str, LeafWorker] = {}
    """Those of tasks that name one."""

    def worker_of(self, leaf: Node) -> LeafWorker:
        return self.agents.get(leaf.agent, self.worker)

    @property
    def tree(self) -> Tree:
        return self.base.split.tree

    @property
    def git(self) -> Git:
        return Git(self.place.top, git_dir=self.place.git_dir)

    @property
    def slots(self) -> int:
        """Workspaces at once: one for each leaf; a few more where leaves may return sub-plans."""
        leaves = self.tree.leaves
        most = max(len(leaves), min(SPARE, sum(map(self._most, leaves))))
        return min(self.spec.max_parallel, most)

    @property
    def work(self) -> str:
        """A digest of what decides how a leaf is done: with another one it is done anew."""
        spec = self.spec
        each = spec.each.model_dump(mode="json", exclude={"budget", "retry"})
        named = (spec.goal, each, spec.verify, spec.tests, spec.shared, spec.env, spec.copy_)
        return digest("work", named, self.place.inside, (self.base.workflow or {}).get("data"))

    def caps(self, slots: int) -> Caps:
        """Those of the run itself: its workspaces."""
        return Caps({RESERVED: slots})

    def _most(self, leaf: Node) -> int:
        """The most leaves that it may be split into."""
        may_split = not leaf.is_task and leaf.depth < self.spec.split.max_depth
        return max(1, len(leaf.files)) if may_split else 1


def resolve_plan(spec: PlanSpec, where: Where, base: PlanBase | None = None) -> ResolvedPlan:
    """Look at the repository. `base`: what is known of it from before. `BadSpec`."""
    spec.check_together(where)
    if spec.tasks is not None and spec.sparse is None:
        spec = spec.model_copy(update={"sparse": False})  # nobody knows which folders they need
    check_words(spec, where)
    repo = where.document.folder / spec.repo
    place = where.at("repo").making(lambda: find(repo))
    if place.git_dir is None:
        raise where.at("repo").bad(
            f"{repo} is not in a git repository: the result is made of commits. "
            "Run `git init` there, and commit"
        )
    if base is None:
        base = find_base(spec, where, repo, place)
        where.at("copy").making(lambda: matching(place.top, spec.copy_, ()))
        if spec.result == "branch":
            root = base.split.tree.root.id
            where.at("repo").making(lambda: check_result(repo, root))
    worker = where.at("each").making(lambda: worker_of(spec, where, base.workflow))
    named = sorted({node.agent for node in base.split.tree.nodes if node.agent})
    agents = {name: where.at("tasks").making(partial(agent_of, name, where)) for name in named}
    return ResolvedPlan(spec=spec, repo=repo, place=place, base=base, worker=worker, agents=agents)


def find_base(spec: PlanSpec, where: Where, repo: Path, place: Place) -> PlanBase:
    """The commit to start from, and its files split. `BadSpec`."""
    start: Start = where.at("repo").making(lambda: start_of(repo, dirty=spec.dirty))
    listing = where.at("files").making(lambda: files_at(repo, start.commit, spec.files))
    if not listing.files:
        raise where.at("files").bad(_no_files(spec, [each.why for each in listing.left_out]))
    git = Git(place.top, git_dir=place.git_dir)
    if isinstance(spec.sparse, tuple):
        _check_folders(git, start.commit, place.inside, spec.sparse, where.at("sparse"))

    def made() -> Split:
        if spec.tasks is not None:
            tasks = read_tasks(spec.tasks, where.document.folder)
            tokens = {file.path: file.tokens for file in listing.files}
            return split_of_tasks(tasks, start.commit, tokens, spec.max_parallel)
        commits = where.at("repo").making(lambda: past_commits(repo, start.commit))
        return split(
            listing.files,
            spec.split.rules,
            goal=spec.goal,
            max_parallel=spec.max_parallel,
            commits=commits,
            left_out=listing.left_out,
        )

    return PlanBase(
        commit=start.commit,
        inside=place.inside,
        split=where.at("split" if spec.tasks is None else "tasks").making(made),
        digests={file.path: file.digest for file in listing.files},
        tokens={file.path: file.tokens for file in listing.files},
        files=_count(git, start.commit),
        uncommitted=0 if spec.dirty else _uncommitted(git),
        unmatched=listing.unmatched,
        workflow=where.at("each", "workflow").making(lambda: workflow_of(spec, where)),
    )


def _check_folders(
    git: Git, commit: str, inside: str, folders: Sequence[str], where: Where
) -> None:
    """A folder that is misspelt would be missing in every workspace. `BadSpec`."""
    for number, folder in enumerate(folders):
        path = str(PurePosixPath(inside, folder.removesuffix(FILES_ONLY)))
        if git.run("cat-file", "-e", f"{commit}:{path}")[0] != 0:
            raise where.at(number).bad(
                f"there is no {folder!r} in the commit that the plan starts from"
            )


def _no_files(spec: PlanSpec, left_out: Sequence[str]) -> str:
    named = ", ".join(map(repr, spec.files)) or "every file"
    if left_out:
        kinds = ", ".join(dict.fromkeys(left_out))
        return f"{named}: {len(left_out)} files match, and all of them are left out ({kinds})"
    where = "the work tree" if spec.dirty else "the commit that HEAD is at"
    return f"{named}: no file of {where} matches"


def _count(git: Git, commit: str) -> int:
    return git.raw("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit).count(b"\0")


def _uncommitted(git: Git) -> int:
    """Files that git does not ignore, and that are not as in HEAD."""
    found = git.raw("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
    return found.count(b"\0")
