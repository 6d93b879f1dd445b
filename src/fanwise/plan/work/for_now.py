"""Until `merge/trees.py` and `workspace(pool, at=…)` are there."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fanwise.kernel import workspaces
from fanwise.plan.change import Blob, Change
from fanwise.workspaces import Workspace, WorkspacePool


def change_of(workspace: Workspace, leaf: str, title: str) -> Change:
    """What is in a workspace against its base."""
    commit = workspace.commit_tree("")
    git = workspace._git
    raw = git.raw("diff-tree", "-r", "-z", "--no-renames", workspace.base, commit)
    words = [os.fsdecode(word) for word in raw.split(b"\0") if word]
    files: dict[str, Blob | None] = {}
    for entry, path in zip(words[::2], words[1::2], strict=True):
        _, mode, _, name, status = entry.split()
        files[path] = None if status == "D" else Blob(mode, name)
    return Change(leaf=leaf, title=title, files=files)


@asynccontextmanager
async def workspace(
    pool: WorkspacePool, *, at: str | None = None, sparse: Sequence[str] | None = None
) -> AsyncIterator[Workspace]:
    """As the kernel's."""
    assert at is None or at == pool.base
    async with workspaces.workspace(pool) as found:
        yield found
