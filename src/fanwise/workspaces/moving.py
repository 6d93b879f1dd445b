"""The user's work tree taken from one commit to another: to apply a result, and to undo that.

Only the files in which the two differ are looked at and written. Each has to be as in the first,
or already as in the second: so what a kill has broken off is finished by a second call. If any is
neither, it is somebody's work, and nothing is written.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from fanwise.errors import GitFailed, NotApplied
from fanwise.workspaces.git import Git
from fanwise.workspaces.results import apply_to_tree, changed_files, index_of, parts
from fanwise.workspaces.source import find

BY_HAND = "Put these files back, or use the patch file yourself: git apply --3way FILE"
_DIFF = ("--no-renames", "--no-ext-diff", "--no-textconv", "--submodule=short")


def patch_between(git: Git, start: str, end: str) -> bytes:
    """Return the difference of two commits as a patch, binary files included."""
    return git.raw("diff", "--binary", "--full-index", *_DIFF, start, end, "--")


class Between(NamedTuple):
    """The files in which two commits differ, by how they are in the work tree."""

    at_start: list[str]
    at_end: list[str]
    neither: list[str]


def between(repo: Path, start: str, end: str) -> Between:
    """Look at the work tree."""
    git = _git(repo)
    try:
        files = git.names("diff", "--name-only", "-z", *_DIFF, start, end, "--")
    except GitFailed as error:
        raise NotApplied(f"a commit of the run is not there any more: {error.said}") from error
    not_at_end = _unlike(repo, end, files)
    neither = set(_unlike(repo, start, not_at_end))
    return Between(
        [name for name in not_at_end if name not in neither],
        sorted(set(files) - set(not_at_end)),
        sorted(neither),
    )


def move_tree(
    repo: Path, start: str, end: str, *, state: str, next_step: str = BY_HAND
) -> list[str]:
    """Change the work tree, and nothing else; return the files. All of it, or `NotApplied`.

    `state` says how the files have to be: "not as … : file" is the error.
    """
    found = between(repo, start, end)
    if found.neither:
        raise NotApplied(
            f"not {state}: {', '.join(found.neither)}",
            next_step,
            files=found.neither,
        )
    if found.at_start:
        apply_to_tree(repo, _patch_of(_git(repo), start, end, found.at_start), start)
    return found.at_start


def _unlike(repo: Path, commit: str, files: list[str]) -> list[str]:
    """Those that are not in the work tree as in a commit."""
    with index_of(find(repo), commit) as (git, env):
        listed = (git.names("ls-files", "-z", "--", *some, env=env) for some in parts(files))
        known = {name for some in listed for name in some}
        changed = set(changed_files(git, env, sorted(known)))
        return [
            name
            for name in files
            if name in changed or (name not in known and _is_file(git.cwd / name))
        ]


def _is_file(path: Path) -> bool:
    return path.is_symlink() or (path.exists() and not path.is_dir())


def _patch_of(git: Git, start: str, end: str, files: list[str]) -> bytes:
    literal = {"GIT_LITERAL_PATHSPECS": "1"}
    command = ("diff", "--binary", "--full-index", *_DIFF, start, end, "--")
    return b"".join(git.raw(*command, *some, env=literal) for some in parts(files))


def _git(repo: Path) -> Git:
    place = find(repo)
    return Git(place.top, git_dir=place.git_dir)
