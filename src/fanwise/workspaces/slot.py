"""One slot: a work tree of git's, made once, and made as new between uses.

What runs in it may do anything to its files, its `.git` included, and may point that at the user's
own repository. So git is always told where the repository is, and its notes about the slot are
put back before they are trusted. To reset costs a few hundredths of a second, to make ten times
that; a slot that cannot be reset is made again. A reset may be to another commit, and to other
folders of it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fanwise.errors import GitFailed, UsageError
from fanwise.workspaces import sparse as sparse_checkout
from fanwise.workspaces.changes import copy_index
from fanwise.workspaces.copies import copy_all
from fanwise.workspaces.folders import alone, make_writable, remove_tree, write_anew
from fanwise.workspaces.git import Git
from fanwise.workspaces.source import Source
from fanwise.workspaces.submodules import Submodule, check_out


class Slot:
    """A place for one workspace after another."""

    def __init__(
        self,
        source: Source,
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
        self._cone = cone
        self._held = tuple(held)
        self._admin = source.common / "worktrees" / path.name
        self.index = path.with_name(f"{path.name}.index")
        """What git's index was when it was as new."""
        self.modules = path.with_name(f"{path.name}.modules")
        self._submodules: list[Submodule] = []
        self.git = self._git(self._held)

    def make(self, lock: int) -> None:
        """Make it; whoever calls is `alone` in the repository, by this lock."""
        held = (*self._held, lock)
        options = ("--quiet", "--detach", "--no-checkout")
        common = Git(self.source.place.top, git_dir=self.source.common, held=held)
        common("worktree", "add", *options, str(self.path), self.base)
        self._note_cone()
        git = self._git(held)
        git("reset", "--quiet", "--hard", self.base)
        self._submodules = check_out(
            self.source.place.top, git, self.modules, now=held, later=self._held
        )
        copy_index(self._admin / "index", self.index)
        copy_all(self.source.place.top, self.copies, self.path)

    def is_at(self, base: str, cone: str) -> bool:
        """Whether that is what it was reset to, or made with."""
        return (self.base, self._cone) == (base, cone)

    def reset(self, base: str, cone: str) -> None:
        """Make it as new, at this commit; if that cannot be done, make it anew."""
        self.base = base
        self._cone = cone or (sparse_checkout.EVERYTHING if self._cone else "")
        self.git = self._git(self._held)
        try:
            self._reset()
        except (GitFailed, OSError):
            make_writable(self.path)
            try:
                self._reset()
            except (GitFailed, OSError):
                self._remake()

    def remove(self) -> None:
        """Remove it and git's notes of it. To be called `alone`."""
        for path in (self.path, self.modules, self._admin):
            if path.is_symlink():
                path.unlink()
            remove_tree(path)
        self.index.unlink(missing_ok=True)

    def _git(self, held: Sequence[int]) -> Git:
        settings = sparse_checkout.SETTINGS if self._cone else ()
        return Git(self.path, git_dir=self._admin, settings=settings, held=held)

    def _note_cone(self) -> None:
        if self._cone:
            (self._admin / "info").mkdir(exist_ok=True)
            write_anew(self._admin / "info" / "sparse-checkout", self._cone)

    def _remake(self) -> None:
        with alone(self.source.common) as lock:
            self.remove()
            self.make(lock)

    def _reset(self) -> None:
        if self.path.is_symlink() or not self.path.is_dir():
            raise NotADirectoryError(str(self.path))
        self._put_back_notes()
        self.git("reset", "--quiet", "--hard", self.base)
        copy_index(self._admin / "index", self.index)  # it knows the files that were put back
        self.git("clean", "--quiet", "-ffdx")
        for submodule in self._submodules:
            submodule.reset()
        copy_all(self.source.place.top, self.copies, self.path)

    def _put_back_notes(self) -> None:
        (self._admin / "HEAD").write_text(f"{self.base}\n")
        self._note_cone()
        copy_index(self.index, self._admin / "index")
        for lock in self._admin.glob("*.lock"):
            lock.unlink()
        write_anew(self.path / ".git", f"gitdir: {self._admin}\n")


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
