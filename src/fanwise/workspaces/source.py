"""What workspaces are made from: a commit of the user's repository, or of a folder without one.

The user's index is never written: the dirty state becomes a commit by way of a copy of it. A
folder that is no repository gets one of its own, in the pool's folder, so that all else is alike.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from fanwise.errors import GitFailed, UsageError, WorkspaceError
from fanwise.workspaces.blobs import BlobReader
from fanwise.workspaces.changes import copy_index, stage_all
from fanwise.workspaces.git import NOBODY, Git

_REMEMBERED = 4
_MESSAGE = "The state that fanwise started from"


@dataclass(frozen=True)
class Place:
    """Where the user's files are. `git_dir` is None where there is no repository."""

    top: Path
    inside: str
    """The part of it that was asked for, relative to `top`; empty: all of it."""
    git_dir: Path | None
    common: Path | None
    """What all work trees of the repository share."""
    users: Path | None = None
    """Where the tree is on the user's own machine, if this is a copy of it on another."""


@dataclass(frozen=True)
class Source:
    """A commit, and the repository that has it."""

    place: Place
    common: Path
    base: str

    @property
    def git(self) -> Git:
        """git with the repository that has the commit."""
        return Git(self.place.top, git_dir=self.common)

    @cached_property
    def blobs(self) -> BlobReader:
        """Reads contents; whoever opened a pool closes it."""
        return BlobReader(self.git)

    @cached_property
    def has_submodules(self) -> bool:
        """Whether the commit names commits of other repositories."""
        return any(mode == "160000" for mode, _ in self.files_at(self.base).values())

    @cached_property
    def files_at(self) -> Callable[[str], Mapping[str, tuple[str, str]]]:
        """All files of a commit by their paths: mode, and the name of the content.

        Of the last few commits they are remembered: most workspaces start from the same one.
        """
        return lru_cache(_REMEMBERED)(lambda commit: files_of_commit(self.git, commit))


class Start(NamedTuple):
    """A state to start from again, whatever becomes of HEAD and of the user's tree meanwhile."""

    commit: str
    tree: str
    """What is in it, of two folders without a repository the same if they are."""
    plain: bool
    """It is of a folder without a repository: the commit is gone, and only its tree is known."""


def find(repo: Path) -> Place:
    """Look where the repository around a folder begins, if it is in one."""
    folder = repo.resolve()
    if not folder.is_dir():
        raise UsageError(f"{repo} is not a folder", "Name the folder of a repository")
    asked = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    code, out, said = Git(folder).run("rev-parse", "--path-format=absolute", *asked)
    if code != 0:
        if "not a git repository" in said:
            return Place(folder, "", None, None)
        raise WorkspaceError(f"{repo} cannot be used: {said}", "See `git status` there")
    top, git_dir, common = map(Path, out.decode("utf-8", "surrogateescape").splitlines())
    inside = "" if folder == top else str(folder.relative_to(top))
    if inside and not Git(folder).names("ls-files", "-z", "--", "."):
        return Place(folder, "", None, None)  # the repository is somebody's home, and not this
    return Place(top, inside, git_dir, common)


def start_of(repo: Path, *, dirty: bool) -> Start:
    """Return what workspaces of a folder start from now."""
    place = find(repo)
    with tempfile.TemporaryDirectory(prefix="fanwise-") as scratch:
        source = commit_of(place, Path(scratch), dirty=dirty, held=())
        return Start(source.base, tree_of(source), place.git_dir is None)


def files_of_commit(git: Git, commit: str) -> dict[str, tuple[str, str]]:
    """Return every path of a commit with its mode and the name of its content."""
    found = {}
    for row in git.raw("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
        entry, _, path = row.partition(b"\t")
        if path:
            mode, _, name = entry.decode().split()
            found[os.fsdecode(path)] = (mode, name)
    return found


def tree_of(source: Source) -> str:
    """Return the digest of all that is in it."""
    git = Git(source.place.top, git_dir=source.common)
    return git("rev-parse", "--verify", f"{source.base}^{{tree}}")


def commit_of(
    place: Place, scratch: Path, *, dirty: bool, held: Sequence[int], base: str | None = None
) -> Source:
    """Return the commit to start from; `scratch` is a folder of ours. `base`: this very one."""
    if place.git_dir is None or place.common is None:
        common = _own_repository(scratch, held)
        git = Git(place.top, git_dir=common, held=held)
        return Source(place, common, _commit_all(git, common / "index", None))
    git = Git(place.top, git_dir=place.git_dir, held=held)
    if base is not None:
        return Source(place, place.common, there(git, base))
    head = _head(git)
    if not dirty:
        if head is None:
            raise WorkspaceError(
                f"{place.top} has no commit yet", "Commit something, or start from the dirty state"
            )
        return Source(place, place.common, head)
    index = scratch / "index"
    if (place.git_dir / "index").exists():
        copy_index(place.git_dir / "index", index)
    return Source(place, place.common, _commit_all(git, index, head))


def _own_repository(scratch: Path, held: Sequence[int]) -> Path:
    Git(scratch, held=held)("init", "--quiet", "--bare", "--template=", "snapshot.git")
    return scratch / "snapshot.git"


def there(git: Git, base: str) -> str:
    """Return the full name of a commit that has to be there."""
    try:
        return git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}")
    except GitFailed as error:
        raise WorkspaceError(
            f"{git.cwd} has no commit {base} any more", "Start anew from what is there"
        ) from error


def _head(git: Git) -> str | None:
    try:
        return git("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except GitFailed:
        return None


def _commit_all(git: Git, index: Path, head: str | None) -> str:
    """Commit all that is there and not ignored, with an index of our own."""
    env = {**NOBODY, "GIT_INDEX_FILE": str(index)}
    stage_all(git, env, nested=True)
    tree = git("write-tree", env=env)
    if head is not None and tree == git("rev-parse", f"{head}^{{tree}}"):
        return head
    parent = [] if head is None else ["-p", head]
    return git("commit-tree", *parent, "-m", _MESSAGE, tree, env=env)
