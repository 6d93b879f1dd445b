"""Submodules of a workspace: repositories that borrow the objects of the user's, like it does.

`git submodule update` would write to the user's configuration, and ask the network. What the user
has not checked out is not there in a workspace either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fanwise.workspaces.changes import DIFF, copy_index, note_new
from fanwise.workspaces.git import Git
from fanwise.workspaces.repository import Origin, Repository, read_origin


class Submodule:
    """One of them, at the commit that the repository around it names."""

    def __init__(self, repository: Repository, path: str, commit: str) -> None:
        self.path = path
        """Where it is, relative to the top of the outermost repository."""
        self._repository = repository
        self._commit = commit

    def reset(self) -> None:
        """Make it as new."""
        self._repository.check_out(self._commit)

    def edits(self) -> bytes:
        """Return what was changed in it as a patch, with paths of the outermost repository.

        A commit that only the workspace has counts as an edit. Being at another commit of the
        user's does not: the repository around it sees that.
        """
        if not self._repository.work_tree.is_dir():
            return b""  # it was removed, and the repository around it sees that
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


class Submodules:
    """Those of one work tree.

    `users` is the user's work tree, `admin` a folder for our notes, `held` the locks that git
    holds while it runs.
    """

    def __init__(self, users: Path, admin: Path, held: Sequence[int]) -> None:
        self.found: list[Submodule] = []
        """Those that are there, the outer ones before those inside them."""
        self._users = users
        self._admin = admin
        self._held = tuple(held)
        self._origins: dict[str, Origin] = {}

    def check_out(self, outer: Repository) -> None:
        """Make those as new that the user has and that are in the folders of this checkout."""
        self.found = list(self._inside(outer, ""))

    def _inside(self, outer: Repository, above: str) -> Iterator[Submodule]:
        for commit, name in outer.links():
            path, ours = f"{above}{name}", outer.work_tree / name
            if (self._users / path / ".git").exists() and ours.is_dir():
                repository = Repository(self._origin(path), ours, self._notes(path), self._held)
                repository.check_out(commit)
                yield Submodule(repository, path, commit)
                yield from self._inside(repository, f"{path}/")

    def _origin(self, path: str) -> Origin:
        if path not in self._origins:
            git = Git(self._users / path)
            common = git("rev-parse", "--path-format=absolute", "--git-common-dir")
            self._origins[path] = read_origin(git, Path(common))
        return self._origins[path]

    def _notes(self, path: str) -> Path:
        return self._admin / str([*self._origins].index(path))
