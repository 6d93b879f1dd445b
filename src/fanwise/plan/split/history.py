"""Past commits, as the paths that each changed."""

from __future__ import annotations

from pathlib import Path

from fanwise.errors import GitFailed
from fanwise.workspaces.git import Git
from fanwise.workspaces.source import find

MOST = 1000
_START = "\x01"


def past_commits(repo: Path, commit: str = "HEAD", *, most: int = MOST) -> list[tuple[str, ...]]:
    """The paths of each commit, the newest first. None where there is no repository, or no commit.

    Merges are left away: what they changed is in the commits that they merged.
    """
    place = find(repo)
    if place.git_dir is None:
        return []
    asked = ["--no-merges", "--no-renames", "--name-only", f"--max-count={most}", "-z"]
    asked += ["--format=%x01", "--end-of-options", commit, "--"]
    try:
        out = Git(place.top, git_dir=place.git_dir).names("log", *asked)
    except GitFailed:
        return []
    commits: list[list[str]] = []
    for name in out:
        if name == _START:
            commits.append([])
        else:
            commits[-1].append(name if commits[-1] else name.removeprefix("\n"))
    return [tuple(paths) for paths in commits]
