"""One side's changes applied to the other's files as patches, exactly: `sequential`.

Every line of a hunk and around it has to be there as it was; only its place may be another. That
is stricter than a three-way merge where a change was made twice, and never guesses.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from fanwise.plan.merge.three_way import BASE, LEAF, MERGED, write_sides
from fanwise.plan.model.change import Blob
from fanwise.workspaces.git import Git

_PATCH = ("diff-tree", "-p", "-r", "--binary", "--full-index", "--no-renames", "--no-ext-diff")


class PatchResult(NamedTuple):
    """What came of it: the files, or those whose patch does not apply, with git's words."""

    files: Mapping[str, Blob]
    failed: Mapping[str, str]


def apply_patches(
    git: Git, base: Mapping[str, Blob], ours: Mapping[str, Blob], theirs: Mapping[str, Blob]
) -> PatchResult:
    """Apply to `ours` what `theirs` is against `base`; `git` is a throw-away repository."""
    write_sides(git, base, ours, theirs)
    env = {"GIT_INDEX_FILE": str(git.cwd.with_name("index")), "GIT_LITERAL_PATHSPECS": "1"}
    git("read-tree", MERGED, env=env)
    failed = {}
    for path in sorted(base.keys() | theirs.keys()):
        if base.get(path) == theirs.get(path):
            continue
        if path not in theirs and ours.get(path) != base[path]:  # of a mode, git would only warn
            failed[path] = "it is to be deleted, and was changed"
            continue
        patch = git.raw(*_PATCH, BASE, LEAF, "--", path, env=env)
        code, _, said = git.run("apply", "--cached", "-", stdin=patch, env=env)
        if code != 0:
            failed[path] = said
    return PatchResult(_files(git, env), failed)


def _files(git: Git, env: Mapping[str, str]) -> dict[str, Blob]:
    found = {}
    for row in git.raw("ls-files", "--stage", "-z", env=env).split(b"\0"):
        front, _, path = row.partition(b"\t")
        if path:
            mode, name, _ = front.decode().split()
            found[os.fsdecode(path)] = Blob(mode, name)
    return found
