"""Submodules of a workspace: repositories that borrow the objects of the user's, like it does.

`git submodule update` would write to the user's configuration, and ask the network. What the user
has not checked out is not there in a workspace either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fanwise.workspaces.changes import DIFF, copy_index, note_new
from fanwise.workspaces.git import Git
from fanwise.workspaces.repository import Repository, read_origin


class Submodule:
    """One of them, at the commit that the repository around it names."""

    def __init__(self, repository: Repository, path: str, commit: str) -> None:
        self.path = path
        """Where it is, relative to the top of the outermost repository."""
        self._repository = repository
        self._commit = commit

    def reset(self) -> None:
        """Make it as new. Its folder is not there where a sparse checkout leaves it out."""
        if self._repository.work_tree.is_dir():
            self._repository.check_out(self._commit)

    def edits(self) -> bytes:
        """Return what was changed in it as a patch, with paths of the outermost repository.

        A commit that only the workspace has counts as an edit. Being at another commit of the
        user's does not: the repository around it sees that.
        """
        if not self._repository.work_tree.is_dir():
            return b""
        git, index = self._repository.git, self._repository.index.with_name("own")
        copy_index(self._repository.index, index)
        env = {"GIT_INDEX_FILE": str(index)}
        note_new(git, env)
        prefixes = (f"--src-prefix=a/{self.path}/", f"--dst-prefix=b/{self.path}/")
        command = ("diff", "--binary", "--full-index", *DIFF, *prefixes, self._at(), "--")
        return git.raw(*command, env=env)

    def _at(self) -> str:
        """Return the commit that it is at, if the user has that one too; else where it began."""
        found = Git(self._repository.work_tree).run("rev-parse", "--verify", "--quiet", "HEAD")
        name = found[1].decode().strip()
        known = found[0] == 0 and self._repository.git.run("cat-file", "-e", f"{name}^{{commit}}")
        return name if known and known[0] == 0 else self._commit


def check_out(
    users: Path, outer: Repository, admin: Path, held: Sequence[int], inside: str = ""
) -> Iterator[Submodule]:
    """Check out those that the user has, and theirs; the outer ones come first.

    `admin` is a folder for our notes of them, `inside` where the outer repository is.
    """
    for number, (commit, name) in enumerate(outer.links()):
        theirs, ours = users / name, outer.work_tree / name
        if not (theirs / ".git").exists() or not ours.is_dir():
            continue
        git = Git(theirs)
        common = git("rev-parse", "--path-format=absolute", "--git-common-dir")
        folder = admin / str(number)
        repository = Repository(read_origin(git, Path(common)), ours, folder / "git", held)
        repository.check_out(commit)
        path = f"{inside}{name}"
        yield Submodule(repository, path, commit)
        yield from check_out(theirs, repository, folder, held, f"{path}/")
