"""A workspace while somebody has it: where it is, and what was changed in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fanwise.errors import GitFailed, PatchFailed, WorkspaceError
from fanwise.workspaces.changes import (
    DIFF,
    Changes,
    copy_index,
    look,
    note_new,
    stage,
    stage_all,
)
from fanwise.workspaces.git import NOBODY, Git
from fanwise.workspaces.slot import Slot, inside

_LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}
_LINK = "160000"
"""The mode of a submodule."""
_AT_ONCE = 500
"""Paths of one command."""


class Workspace:
    """An isolated checkout, for one use.

    Paths are relative to `root`, the top of the repository. Once it is given back, the slot may
    be another's, and everything here raises a `WorkspaceError`.
    """

    def __init__(self, slot: Slot, number: int) -> None:
        self._slot = slot
        self._over = False
        self.number = number
        """Which slot of the pool it is."""
        self.base = slot.base
        """The commit that it started from."""

    @property
    def root(self) -> Path:
        """The top of the repository, here."""
        return self._own.path

    @property
    def path(self) -> Path:
        """The folder that the pool was made for, here: `root`, or a part of it."""
        return self._own.path / self._slot.source.place.inside

    @property
    def users(self) -> Path:
        """The top of the user's own tree, which is not to be touched."""
        place = self._slot.source.place
        return place.users or place.top

    @property
    def readable(self) -> tuple[str, ...]:
        """What a sandbox has to let it see, beside `root`: where it borrows objects from."""
        return self._slot.borrows_from

    def write(self, path: str | os.PathLike[str], content: str | bytes) -> None:
        """Write a file; its folders are made. A link in its place is replaced, never followed."""
        target = inside(self.root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o644
        if target.is_symlink():
            target.unlink()
        elif target.exists():
            mode = target.stat().st_mode
            target.unlink()  # and not written over: it may be a hard link to something else
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        target.chmod(mode)

    def apply(self, patch: bytes) -> None:
        """Apply a patch as `git diff` makes them; all of it, or it is a `PatchFailed`."""
        code, _, said = self._git.run("apply", "--whitespace=nowarn", "-", stdin=patch)
        if code != 0:
            raise PatchFailed(said)

    def names_in(self, patch: bytes) -> list[str]:
        """Return the files that a patch is about, after it was applied or before."""
        code, out, said = self._git.run("apply", "--numstat", "-z", "-", stdin=patch)
        if code != 0:
            raise PatchFailed(said)
        return [os.fsdecode(row.split(b"\t", 2)[2]) for row in out.split(b"\0") if row]

    def diff(self, paths: Sequence[str] = (), *, binary: bool = True) -> bytes:
        """Return all changes since `base` as a patch, new and binary files included.

        Files that git ignores, and those that the pool has copied, are left out. `paths`: only of
        these. Without `binary`, of files that are no text it says only that they differ.
        """
        how = ("--binary", "--full-index") if binary else ()
        with self._own_index() as env:
            note_new(self._git, env, without=self._slot.copies)
            each = _some(paths) if paths else [()]
            commands = [("diff", *how, *DIFF, self.base, "--", *some) for some in each]
            return b"".join(self._git.raw(*one, env={**env, **_LITERAL}) for one in commands)

    def changed_files(self) -> list[str]:
        """Return the names of the files that `diff` is about."""
        return self.changes().files

    def changes(self) -> Changes:
        """Return what was changed since `base`."""
        return look(self._git, without=self._slot.copies)

    def undo_in_submodules(self) -> dict[str, bytes]:
        """Undo all edits inside of submodules, and return them as patches, by the submodule.

        They are in no `diff`: a commit here names a commit of a submodule, not its files.
        """
        edited = [(each, each.edits()) for each in self._own.submodules]
        for submodule, patch in edited:
            if patch:
                submodule.reset()
        return {submodule.path: patch for submodule, patch in edited if patch}

    def changed_blobs(
        self, paths: Sequence[str] | None = None
    ) -> dict[str, tuple[str, str] | None]:
        """Return the files that `diff` is about with their modes and the names of their contents.

        The contents are in the repository then. None: the file is not there any more. `paths`:
        these are all that were changed.
        """
        names = self.changed_files() if paths is None else paths
        if not names:
            return {}
        with self._own_index() as env:
            stage(self._git, env, names)
            command = ("diff-index", "--cached", "-z", "--no-renames", self.base)
            words = self._git.names(*command, env=env)
        found: dict[str, tuple[str, str] | None] = {}
        for entry, path in zip(words[::2], words[1::2], strict=True):
            _, mode, _, name, status = entry.split()
            found[path] = None if status == "D" else (mode, name)
        return found

    def changes_of(self, commit: str) -> bytes:
        """Return as a patch what a commit changed since it and `base` had a commit in common."""
        common = self._git("merge-base", self.base, commit)
        return self._git.raw("diff", "--binary", "--full-index", *DIFF, common, commit, "--")

    def at_base(self, path: str) -> tuple[str, bytes] | None:
        """Return a file's mode, as git writes it, and its content at `base`; None: no such file."""
        mode, name = self.files_at_base().get(path, (_LINK, ""))
        return None if mode == _LINK else (mode, self._own.source.blobs.read([name])[0])

    def files_at_base(self) -> Mapping[str, tuple[str, str]]:
        """Return all files of `base`, by their paths: mode and name of the content."""
        return self._own.source.files_at(self.base)

    def read_at_base(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Return the contents of those of these files that are there at `base`, links left out."""
        before = self.files_at_base()
        wanted = [path for path in paths if before.get(path, ("",))[0].startswith("100")]
        contents = self._own.source.blobs.read([before[path][1] for path in wanted])
        return dict(zip(wanted, contents, strict=True))

    def restore(self, paths: Sequence[str]) -> None:
        """Put files back as they are at `base`; those that are not there are removed.

        What stands in their way or above them is removed first: links, and files in place of
        folders; so name those too.
        """
        for path in sorted(paths):
            target = inside(self.root, path)
            if target.is_symlink() or (target.exists() and not target.is_dir()):
                target.unlink()
        before = self.files_at_base()
        there = [path for path in paths if before.get(path, (_LINK,))[0] != _LINK]
        for path in there:
            if (self.root / path).is_dir():
                _remove_empty(self.root / path)
        if there:
            listed = b"\0".join(os.fsencode(path) for path in there)
            from_file = ("--pathspec-from-file=-", "--pathspec-file-nul")
            options = ("--quiet", "--force", "--ignore-skip-worktree-bits")
            command = ("checkout", *options, *from_file, self.base)
            with self._own_index() as env:
                self._git(*command, stdin=listed, env={**env, **_LITERAL})

    def commit_tree(self, message: str, *, parents: Sequence[str] | None = None) -> str:
        """Commit what `diff` is about, and return the commit; no branch or tag will name it.

        `parents` are commits, `base` if nothing is said. Its author is the one whom git knows.
        """
        tree = self._tree()
        names = [self.base] if parents is None else parents
        options = [word for name in names for word in ("-p", name)]
        command = ("commit-tree", *options, "-F", "-", tree)
        return self._git(*command, stdin=message.encode(), env=self._author())

    def end(self) -> None:
        """Take note that it is given back."""
        self._over = True

    @property
    def _own(self) -> Slot:
        if self._over:
            raise WorkspaceError(
                "this workspace was given back", "Use it inside its block, or take another"
            )
        return self._slot

    @property
    def _git(self) -> Git:
        return self._own.git

    def _tree(self) -> str:
        with self._own_index() as env:
            stage_all(self._git, env, without=self._slot.copies)
            return self._git("write-tree", env=env)

    @contextmanager
    def _own_index(self) -> Iterator[dict[str, str]]:
        """Copy the index as it was at the start, for a block."""
        index = self._own.path.with_name(f"{self._own.path.name}.own")
        copy_index(self._slot.index, index)
        try:
            yield {"GIT_INDEX_FILE": str(index)}
        finally:
            index.unlink(missing_ok=True)

    def _author(self) -> dict[str, str]:
        try:
            self._git("var", "GIT_COMMITTER_IDENT", env={})
        except GitFailed:
            return NOBODY
        return {}


def _some(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    """So many at a time as a command can be given."""
    return (paths[at : at + _AT_ONCE] for at in range(0, len(paths), _AT_ONCE))


def _remove_empty(folder: Path) -> None:
    """Remove a folder in which there is nothing but folders. `OSError` if there is more."""
    for each in folder.iterdir():
        _remove_empty(each)
    folder.rmdir()
