"""What a plan leaves behind: a patch file, a branch with a commit for each leaf, files on request.

The commits exist before, as objects that no ref names; one update of one ref makes them a branch. A
branch of that name from an earlier run of the same plan belongs to the user by now and is not
moved: the new one gets a number. Every function can be called again after a kill at any moment, and
does what is left to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from fanwise.errors import NotApplied
from fanwise.plan.merge.part_branches import part_branches
from fanwise.plan.model.merge_result import MergeStep, PublishedResult
from fanwise.plan.model.node import FileNote, Tree
from fanwise.workspaces.git import Git
from fanwise.workspaces.results import (
    between,
    branches,
    check_branch,
    make_branch,
    move_tree,
    patch_between,
    write_patch,
)
from fanwise.workspaces.source import find

PATCH = "plan.patch"
_DIGITS = 12
_MOST = 1000


class PlanDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """Where the result was written, apart from its branch."""

    patch: str | None = None
    """The path of its patch file."""
    applied: Sequence[str] = ()
    """Files of the work tree that were changed."""
    is_there: bool = False
    """Whether the work tree has the whole result, applied now or earlier."""
    problem: str = ""
    """Why it was not applied."""
    branches: Sequence[str] = ()
    """One for each sub-plan, if that was asked for."""


def leave_parts(repo: Path, base: str, result: PublishedResult, tree: Tree) -> list[str]:
    """Make a branch for each sub-plan of a result, and return their names, in order."""
    git = _git(repo)
    return [_branch(git, name, commit) for name, commit in _parts(git, base, result, tree).items()]


def _parts(git: Git, base: str, result: PublishedResult, tree: Tree) -> dict[str, str]:
    return part_branches(git, base, result.commit, result.leaves, tree, branch_name(tree.root.id))


class RolledBack(msgspec.Struct, frozen=True, kw_only=True):
    """What a rollback did."""

    files: tuple[str, ...] = ()
    """Those of the work tree that were put back."""
    branch: str | None = None
    """The one that was removed."""
    kept: str = ""
    """Why a branch was kept."""


def branch_name(root: str) -> str:
    return f"fanwise/plan-{root[:_DIGITS]}"


def check_result(repo: Path, root: str) -> None:
    """Refuse a branch that git could not make, before anything is spent."""
    check_branch(repo, branch_name(root), new=False)


def leave(
    repo: Path,
    base: str,
    step: MergeStep,
    branch: str | None,
    folder: Path | None,
    left_out: Sequence[FileNote] = (),
) -> PublishedResult:
    """Write the patch file into the run's folder, and make the branch unless it is None.

    If no leaf changed anything, there is neither.
    """
    git = _git(repo)
    patch = patch_between(git, base, step.commit)
    if patch and folder is not None:
        write_patch(folder / PATCH, patch)
    made = None if branch is None or step.commit == base else _branch(git, branch, step.commit)
    return PublishedResult(
        commit=step.commit,
        branch=made,
        patch=PATCH if patch and folder is not None else None,
        leaves=step.merged.leaves,
        left_out=tuple(left_out),
    )


def apply(repo: Path, base: str, commit: str) -> list[str]:
    """Write the result to the work tree; return the files that were written.

    Either all of it, or `NotApplied` with the files that changed since the plan started.
    """
    return move_tree(repo, base, commit, state="as in the commit that the plan started from")


def rollback(
    repo: Path, base: str, result: PublishedResult, tree: Tree | None = None
) -> RolledBack:
    """Undo `apply`, if it was done, and remove the branches unless somebody changed them.

    Either all files are put back, or none and `NotApplied` names those that changed since. If files
    are as at the start and none as in the result, it was not applied, whatever else changed.
    """
    now = between(repo, base, result.commit)
    files: list[str] = []
    if now.at_end or not now.at_start:
        how = "Put these files back, or undo the rest yourself: git apply --reverse --3way FILE"
        files = move_tree(repo, result.commit, base, state="as the plan left them", next_step=how)
    git = _git(repo)
    if tree is not None and any("-parts/" in name for name in branches(git)):
        for name, commit in _parts(git, base, result, tree).items():
            _remove(git, name, commit)
    if result.branch is None:
        return RolledBack(files=tuple(files))
    was_there = result.branch in branches(git)
    kept = _remove(git, result.branch, result.commit)
    removed = result.branch if was_there and not kept else None
    return RolledBack(files=tuple(files), branch=removed, kept=kept)


def _branch(git: Git, name: str, commit: str) -> str:
    for number in range(1, _MOST):
        there = branches(git)
        wanted = name if number == 1 else f"{name}-{number}"
        if there.get(wanted) == commit:
            return wanted
        if wanted not in there:
            try:
                make_branch(git, wanted, commit)
            except NotApplied:
                if wanted not in branches(git):  # else somebody was faster: the next number
                    raise
            else:
                return wanted
    raise NotApplied(f"there are {_MOST} branches {name} ", f"Remove some: git branch -D {name}")


def _remove(git: Git, name: str, commit: str) -> str:
    """Remove a branch that is at this commit; return why it was not."""
    ref = f"refs/heads/{name}"
    there = branches(git).get(name)
    if there is None:
        return ""
    if there != commit:
        return f"the branch {name} has other commits by now"
    if f"branch {ref}" in git("worktree", "list", "--porcelain").splitlines():
        return f"the branch {name} is checked out"
    code, _, said = git.run("update-ref", "--no-deref", "-d", ref, commit)
    return "" if code == 0 else f"the branch {name} could not be removed: {said}"


def _git(repo: Path) -> Git:
    place = find(repo)
    return Git(place.top, git_dir=place.git_dir)
