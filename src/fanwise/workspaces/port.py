"""What a pool of workspaces is to whoever uses one. A port.

`WorkspacePool` has real checkouts; `fanwise.testing.FolderWorkspaces` is the fake. Both pass
`tests/workspaces/test_contract.py`.

Rules: a workspace that is taken is as new, whatever was done to it before. There is no queue:
who takes one more than there are gets a `NoFreeWorkspace`. After it is given back, everything
about it raises a `WorkspaceError`, for the folder may be another's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeVar


class Checkout(Protocol):
    """An isolated copy of a project, for one use. Paths are relative to `root`."""

    @property
    def number(self) -> int:
        """Which slot of the pool it is."""

    @property
    def base(self) -> str:
        """What it started from."""

    @property
    def root(self) -> Path:
        """The top of the project, here."""

    @property
    def path(self) -> Path:
        """The folder that the pool was made for, here: `root`, or a part of it."""

    @property
    def users(self) -> Path:
        """The top of the user's own tree, which is not to be touched."""

    def write(self, path: str | os.PathLike[str], content: str | bytes) -> None:
        """Write a file; its folders are made. What leads out is a `UsageError`."""

    def apply(self, patch: bytes) -> None:
        """Apply a patch as `git diff` makes them; all of it, or it is a `PatchFailed`."""

    def diff(self) -> bytes:
        """Return all changes since `base` as a patch."""

    def changed_files(self) -> list[str]:
        """Return the names of the files that `diff` is about, in order."""

    def commit_tree(self, message: str, *, parents: Sequence[str] | None = None) -> str:
        """Keep what is there under a name, which is returned; another content has another."""


W = TypeVar("W", bound=Checkout)


class Pool(Protocol[W]):
    """Workspaces to take and to give back; usable inside its `with` block."""

    @property
    def base(self) -> str:
        """What the workspaces start from."""

    def __len__(self) -> int: ...

    def take(self) -> W:
        """Return a workspace that is as new. All in use is a `NoFreeWorkspace`."""

    def give_back(self, workspace: W) -> None:
        """Let others have it."""
