"""Submodules of a slot: small clones that borrow the objects of the user's.

`git submodule update` would write to the configuration that the user's work tree shares, and ask
the network. What the user has not checked out is not there in a slot either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fanwise.workspaces.folders import write_anew
from fanwise.workspaces.git import Git

_LINK = "160000"


@dataclass(frozen=True)
class Submodule:
    """One that was checked out, and the commit that it has to be at."""

    git: Git
    repository: Path
    commit: str

    def reset(self) -> None:
        """Make it as it was."""
        write_anew(self.git.cwd / ".git", f"gitdir: {self.repository}\n")
        self.git("reset", "--quiet", "--hard", self.commit)
        self.git("clean", "--quiet", "-ffdx")


def check_out(
    users: Path, git: Git, admin: Path, *, now: Sequence[int], later: Sequence[int]
) -> list[Submodule]:
    """Check out those that the user has, and theirs; return them, the outer ones first.

    `admin` is a folder of ours for their repositories: a workspace has no say in those. `now` and
    `later` are the locks that git holds while they are made, and when they are reset.
    """
    found: list[Submodule] = []
    for number, (commit, name) in enumerate(_links(git)):
        theirs, ours = users / name, git.cwd / name
        if not (theirs / ".git").exists() or not ours.is_dir():
            continue
        folder = admin / str(number)
        folder.mkdir(parents=True)
        repository = folder / "git"
        origin = Git(theirs)("rev-parse", "--absolute-git-dir")
        options = ("--quiet", "--shared", "--no-checkout", "--template=")
        Git(ours, held=now)(
            "clone", *options, f"--separate-git-dir={repository}", origin, str(ours)
        )
        inner = Git(ours, git_dir=repository, held=now)
        inner("checkout", "--quiet", "--detach", commit)
        lasting = Git(ours, git_dir=repository, held=later)
        found.append(Submodule(lasting, repository, commit))
        found += check_out(theirs, inner, folder, now=now, later=later)
    return found


def _links(git: Git) -> list[tuple[str, str]]:
    rows = (row.partition("\t") for row in git.names("ls-files", "--stage", "-z"))
    return [(front.split()[1], name) for front, _, name in rows if front.startswith(_LINK)]
