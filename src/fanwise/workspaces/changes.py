"""To tell an index of git's what is in a tree now.

With plumbing, and never a look into submodules: for that, `git add` and `git diff` run git inside
them, with whatever configuration is there, and so with whatever programs that names. A workspace
may have put it there, and what it names would run outside of its sandbox.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from fanwise.workspaces.git import Git

NOT_INSIDE = "--ignore-submodules=dirty"
"""Of a submodule, only which commit it is at."""

DIFF = ("--no-ext-diff", "--no-textconv", "--no-renames", "--submodule=short", NOT_INSIDE)


def copy_index(source: Path, target: Path) -> None:
    """Copy an index with its modification time.

    git compares a file's content only if the file is not older than the index. In a copy with a
    newer time, an edit of equal size made right after the index was written looks unchanged. The
    time is read first: if the index is replaced meanwhile, it is too old, which is safe.
    """
    stat = source.stat()
    shutil.copyfile(source, target)
    os.utime(target, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def stage_all(
    git: Git, env: Mapping[str, str], *, without: Collection[str] = (), nested: bool = False
) -> None:
    """Put all that has changed into the index, new files that are not ignored too.

    `without` are new files to leave out. With `nested`, repositories inside the tree that git
    does not know yet are noted by their commit, like submodules; else they are left out.
    """
    stage(git, env, git.names("diff-files", "--name-only", "-z", NOT_INSIDE, env=env))
    _add(git, _new(git, env, without, nested=nested), "--sparse", env=env)


def note_new(git: Git, env: Mapping[str, str], *, without: Collection[str] = ()) -> None:
    """Tell the index that there are new files, and not what is in them."""
    _add(git, _new(git, env, without, nested=False), "--sparse", "--intent-to-add", env=env)


def stage(git: Git, env: Mapping[str, str], names: Iterable[str]) -> None:
    """Put these files into the index as they are now, or take them out if they are gone.

    A link in place of a folder replaces all files that the folder had; git takes no names of those.
    """
    given = list(names)
    links = [f"{name}/" for name in given if (git.cwd / name).is_symlink()]
    left = [name for name in given if not name.startswith(tuple(links))]
    listed = b"".join(b"%s\0" % os.fsencode(name) for name in left)
    options = ("-z", "--add", "--remove", "--replace", "--stdin")
    git("update-index", *options, stdin=listed, env=env)


class Changes(NamedTuple):
    """What was changed in a work tree."""

    files: list[str]
    nested: list[str]
    """Folders that have become repositories of their own, whatever is in them."""


def look(git: Git, *, without: Collection[str] = ()) -> Changes:
    """Find what differs from HEAD, new files that are not ignored included.

    `without` are new files to leave out. The index is only read: we allow git no optional locks.
    """
    command = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", NOT_INSIDE)
    found = Changes([], [])
    leave_out = set(without)
    for entry in git.names(*command):
        name = entry[3:]
        if not entry.startswith("??"):
            found.files.append(name)
        elif name.endswith("/"):
            found.nested.append(name)
        elif name not in leave_out:
            found.files.append(name)
    found.files.sort(key=os.fsencode)
    return found


def _add(git: Git, names: list[str], *options: str, env: Mapping[str, str]) -> None:
    if names:
        listed = b"\0".join(os.fsencode(name) for name in names)
        from_file = ("--pathspec-from-file=-", "--pathspec-file-nul")
        literal = {**env, "GIT_LITERAL_PATHSPECS": "1"}
        git("add", *options, *from_file, stdin=listed, env=literal)


def _new(git: Git, env: Mapping[str, str], without: Collection[str], *, nested: bool) -> list[str]:
    names = git.names("ls-files", "--others", "--exclude-standard", "-z", env=env)
    leave_out = set(without)
    return [
        name
        for name in names
        if name not in leave_out
        and (not name.endswith("/") or (nested and _committed(git.cwd / name)))
    ]


def _committed(folder: Path) -> bool:
    return Git(folder).run("rev-parse", "--verify", "--quiet", "HEAD")[0] == 0
