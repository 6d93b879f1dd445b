"""Workspaces without a repository: plain folders, filled anew for each use.

For tests of code that works in workspaces: no repository has to be made, and taking one costs
what it costs to write the files. It passes the contract tests of the real pool. What only a
repository has is not there: ignored files, submodules, links in a diff. Patches are git's own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fanwise.errors import (
    BadCap,
    GitFailed,
    NoFreeWorkspace,
    PatchFailed,
    UsageError,
    WorkspaceError,
)
from fanwise.workspaces.git import Git
from fanwise.workspaces.slot import inside


class FolderWorkspace:
    """One of them, while somebody has it."""

    def __init__(self, folder: Path, number: int, files: Mapping[str, bytes], users: Path) -> None:
        self._folder = folder
        self._files = files
        self._over = False
        self.number = number
        self.base = _digest(files)
        self.users = users

    @property
    def root(self) -> Path:
        """Its folder."""
        if self._over:
            raise WorkspaceError(
                "this workspace was given back", "Use it inside its block, or take another"
            )
        return self._folder

    @property
    def path(self) -> Path:
        """Its folder: such a pool is always for the whole."""
        return self.root

    def write(self, path: str | os.PathLike[str], content: str | bytes) -> None:
        """Write a file; its folders are made. A link in its place is replaced."""
        target = inside(self.root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)

    def apply(self, patch: bytes) -> None:
        """Apply a patch; all of it, or it is a `PatchFailed`."""
        code, _, said = _git(self.root).run("apply", "-", stdin=patch)
        if code != 0:
            raise PatchFailed(said)

    def diff(self) -> bytes:
        """Return all changes as a patch."""
        with tempfile.TemporaryDirectory(prefix="fanwise-") as folder:
            for side, files in (("a", self._files), ("b", self._read())):
                (Path(folder) / side).mkdir()
                for name, content in files.items():
                    target = Path(folder) / side / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
            compared = ("diff", "--no-index", "--no-prefix", "--binary", "a", "b")
            code, patch, said = _git(Path(folder)).run(*compared)
        if code not in (0, 1):  # 1: there are differences
            raise GitFailed("git diff", said)
        return patch

    def changed_files(self) -> list[str]:
        """Return the names of the files that `diff` is about."""
        now = self._read()
        names = sorted(self._files.keys() | now.keys())
        return [name for name in names if self._files.get(name) != now.get(name)]

    def commit_tree(self, message: str, *, parents: Sequence[str] | None = None) -> str:
        """Return a name for what is there now."""
        told = {"message": message.encode(), "parents": " ".join(parents or [self.base]).encode()}
        return _digest({**{f"file {name}": text for name, text in self._read().items()}, **told})

    def end(self) -> None:
        """Take note that it is given back."""
        self._over = True

    def _read(self) -> dict[str, bytes]:
        root = self.root
        return {
            path.relative_to(root).as_posix(): path.read_bytes()
            for path in sorted(root.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }


class FolderWorkspaces:
    """`with FolderWorkspaces({"src/a.py": "x = 1\\n"}, slots=2) as pool:`

    Give it wherever a pool is taken: `async with workspace(pool) as ws`.
    """

    def __init__(self, files: Mapping[str, str | bytes], *, slots: int = 4) -> None:
        if slots < 1:
            raise BadCap("slots", slots)
        self._files = {
            name: text.encode() if isinstance(text, str) else text for name, text in files.items()
        }
        self._slots = slots
        self._free: deque[int] = deque()
        self._folder: Path | None = None
        self.uses = 0
        """How often one was taken."""
        self.in_use = 0
        self.most_in_use = 0

    def __enter__(self) -> FolderWorkspaces:
        self._folder = Path(tempfile.mkdtemp(prefix="fanwise-"))
        self._free = deque(range(self._slots))
        return self

    def __exit__(self, *_: object) -> None:
        folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def __len__(self) -> int:
        return self._slots if self._folder is not None else 0

    @property
    def base(self) -> str:
        """A digest of the files."""
        return _digest(self._files)

    @contextmanager
    def workspace(self) -> Iterator[FolderWorkspace]:
        """Take one for a `with` block."""
        taken = self.take()
        try:
            yield taken
        finally:
            self.give_back(taken)

    def take(self) -> FolderWorkspace:
        """Return one that is as new. All in use is a `NoFreeWorkspace`."""
        if self._folder is None:
            raise UsageError("this pool is not open", "Use it inside `with FolderWorkspaces(…)`")
        if not self._free:
            raise NoFreeWorkspace(len(self))
        number = self._free.popleft()
        folder = self._folder / str(number)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        taken = FolderWorkspace(folder, number, self._files, self._folder / "users")
        for name, content in self._files.items():
            taken.write(name, content)
        self.uses += 1
        self.in_use += 1
        self.most_in_use = max(self.most_in_use, self.in_use)
        return taken

    def give_back(self, workspace: FolderWorkspace) -> None:
        """Let others have it."""
        workspace.end()
        self.in_use -= 1
        self._free.append(workspace.number)


def _git(folder: Path) -> Git:
    """git as a tool for patches: it looks for no repository around the folder."""
    return Git(folder, env={"GIT_CEILING_DIRECTORIES": str(folder.resolve().parent)})


def _digest(files: Mapping[str, bytes]) -> str:
    found = hashlib.sha1(usedforsecurity=False)
    for name, content in sorted(files.items()):
        found.update(f"{name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()
