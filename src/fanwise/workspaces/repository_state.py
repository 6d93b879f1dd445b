"""What a run must leave alone in the user's repository, to compare before and after."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from fanwise.workspaces.git import Git
from fanwise.workspaces.source import Place, find

_STATUS = (
    "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all",
    "--ignore-submodules=dirty",
)  # fmt: skip
_SETTINGS = {"local": "the configuration", "global": "your global git configuration"}


def users_state(repo: Path) -> Mapping[str, str] | None:
    """Return the state of the repository around a folder; None if there is none."""
    place = find(repo)
    return None if place.git_dir is None else state_of(place)


def state_of(place: Place) -> Mapping[str, str]:
    """Return everything that counts, each by a name for people with a digest of its content.

    The index counts by its entries: git rewrites the file whenever somebody looks at it.
    """
    assert place.git_dir is not None
    assert place.common is not None
    git = Git(place.top, git_dir=place.git_dir)
    entries = git.raw("ls-files", "--stage", "-z")
    found = {"HEAD": _digest(place.git_dir / "HEAD"), "the index": _hash(entries)}
    for scope, what in _SETTINGS.items():
        found[what] = _hash(git.run("config", f"--{scope}", "--list", "-z")[1])
    found |= {"the configuration of the work tree": _digest(place.git_dir / "config.worktree")}
    found |= {"the stash": _digest(place.common / "logs" / "refs" / "stash")}
    for line in git("for-each-ref", "--format=%(refname) %(objectname)").splitlines():
        name, _, commit = line.rpartition(" ")
        found[name] = commit
    for folder, depth in (("hooks", "*"), ("worktrees", "*/gitdir")):
        for path in (place.common / folder).glob(depth):
            found[str(path.relative_to(place.common))] = _digest(path)
    return {**found, **dict(_changed_files(git))}


def differences(
    before: Mapping[str, str], after: Mapping[str, str], *, without: tuple[str, ...] = ()
) -> list[str]:
    """Say in what two states differ, except those whose names begin with one of `without`."""
    found = []
    for name in sorted(before.keys() | after.keys()):
        if name.startswith(without) or before.get(name) == after.get(name):
            continue
        how = "is new" if name not in before else "is gone" if name not in after else "was changed"
        found.append(f"{name.encode('utf-8', 'backslashreplace').decode()} {how}")
    return found


def _changed_files(git: Git) -> Iterator[tuple[str, str]]:
    """Files that are not as in HEAD and the index."""
    for entry in git.raw(*_STATUS).split(b"\0"):
        if entry:
            path = os.fsdecode(entry[3:])
            try:
                stat = (git.cwd / path).lstat()
                now = f"{stat.st_size} {stat.st_mtime_ns}"
            except OSError:
                now = "gone"
            yield f"file {path}", now


def _digest(path: Path) -> str:
    try:
        return _hash(path.read_bytes())
    except OSError:
        return ""


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
