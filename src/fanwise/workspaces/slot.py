"""One slot: a work tree with repositories of its own, made once, and made as new between uses.

What runs in it may do anything to its files, its `.git` included. A reset takes a few hundredths of
a second; a slot that cannot be reset is made again. A reset may be to another commit, and to other
folders of it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fanwise.errors import GitFailed, UsageError
from fanwise.workspaces import sparse as sparse_checkout
from fanwise.workspaces.copies import copy_all
from fanwise.workspaces.folders import make_writable, remove_tree
from fanwise.workspaces.git import Git
from fanwise.workspaces.repository import Origin, Repository, object_folders
from fanwise.workspaces.source import Source
from fanwise.workspaces.submodules import Submodule, Submodules


class Slot:
    """A place for one workspace after another."""

    def __init__(
        self,
        source: Source,
        origin: Origin,
        path: Path,
        *,
        copies: Sequence[str],
        cone: str,
        held: Sequence[int],
    ) -> None:
        self.source = source
        self.path = path
        self.copies = copies
        self.base = source.base
        """The commit that it is reset to."""
        self.borrows_from = tuple(map(str, object_folders(source.common / "objects")))
        """Where it gets objects from; read here, because slots are made in a thread."""
        self._cone = cone
        self._making: subprocess.Popen[bytes] | None = None
        self._admin = path.with_name(f"{path.name}.git")
        self._modules = path.with_name(f"{path.name}.modules")
        self._repository = Repository(origin, path, self._admin, held)
        self._submodules = Submodules(source.place.top, self._modules, held)

    @property
    def git(self) -> Git:
        """git for us: what runs in the slot has no say in its index and configuration."""
        return self._repository.git

    @property
    def submodules(self) -> list[Submodule]:
        """Those that are checked out."""
        return self._submodules.found

    @property
    def index(self) -> Path:
        """The index as it was when the slot was new."""
        return self._repository.index

    def make(self) -> None:
        """Make it, where nothing is yet."""
        self.path.mkdir()
        self._check_out()

    def begin(self) -> None:
        """Let git make it while others work. Whoever takes it resets it, and waits for git."""
        self.path.mkdir()
        self._making = self._repository.begin(self.base)

    def has(self, cone: str) -> bool:
        """Whether it has just these folders."""
        return self._cone in (cone, cone or sparse_checkout.EVERYTHING)

    def is_at(self, base: str, cone: str) -> bool:
        """Whether that is what it was reset to, or made with."""
        return (self.base, self._cone) == (base, cone)

    def reset(self, base: str, cone: str) -> None:
        """Make it as new, at this commit; if that cannot be done, make it anew."""
        self.settle()
        self.base = base
        self._cone = cone or (sparse_checkout.EVERYTHING if self._cone else "")
        try:
            self._reset()
        except (GitFailed, OSError):
            make_writable(self.path)
            try:
                self._reset()
            except (GitFailed, OSError):
                self.remove()
                self.make()

    def settle(self) -> None:
        """Wait until nothing is made here any more."""
        if self._making is not None:
            self._making.communicate()
            self._making = None

    def remove(self) -> None:
        """Remove it, with our notes of it."""
        for path in (self.path, self._modules, self._admin):
            if path.is_symlink() or path.is_file():
                path.unlink()
            remove_tree(path)

    def _reset(self) -> None:
        if self.path.is_symlink() or not self.path.is_dir():
            raise NotADirectoryError(str(self.path))
        self._check_out()

    def _check_out(self) -> None:
        self._repository.check_out(self.base, self._cone)
        if self.source.has_submodules:
            self._submodules.check_out(self._repository)
        copy_all(self.source.place.top, self.copies, self.path)


def inside(root: Path, name: str | os.PathLike[str]) -> Path:
    """Return where a name is in a slot; refuse what leads out of it."""
    path = Path(name)
    target = root / path
    outside = path.is_absolute() or ".." in path.parts or not path.parts
    if outside or path.parts[0] == ".git" or not _leads_in(root, target.parent):
        raise UsageError(
            f"{os.fspath(name)!r} is not in the workspace", "Give a path relative to it"
        )
    return target


def _leads_in(root: Path, folder: Path) -> bool:
    return folder.resolve().is_relative_to(root.resolve())
