"""What a measured process left in its workspace. It is removed before the next one starts.

Otherwise a candidate could write its results to a file, and from the second process on every call
would be one that it has seen before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from fanwise.workspaces.folders import make_writable, remove_tree

COMPILED = "__pycache__"
Seen = dict[Path, tuple[int, int]]
"""Each file and folder, with its inode and when it changed, which nobody can set. A folder changes
with what is in it: of one, its mode and extended attributes count, and its time is set to 0."""


def look_at(root: Path) -> Seen:
    """All that is in a folder now."""
    return {root: _folder(root), **dict(_below(root))}


class Left(NamedTuple):
    """What a process left, by its paths in the folder."""

    changed: tuple[str, ...]
    """What was there before, and is not as it was."""
    made: tuple[str, ...]
    """What was not there before, apart from compiled modules. It is removed."""


def remove_new(root: Path, before: Seen) -> Left:
    """Remove what was not there before, and say what a process did."""
    now = look_at(root)
    made = [path for path in now if path not in before and path.parent in before]
    for path in made:
        _remove(path)
    for path in before:
        with suppress(OSError):  # removed, or in a folder that was closed: it is named below
            if path.is_dir() and not path.is_symlink():
                os.utime(path, (0, 0))
    changed = (path for path, seen in before.items() if now.get(path) != seen)
    own = (path for path in made if path.name != COMPILED and path.suffix != ".pyc")
    return Left(*(tuple(sorted(str(p.relative_to(root)) for p in each)) for each in (changed, own)))


def _below(folder: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            path, found = Path(entry.path), entry.stat(follow_symlinks=False)
            is_folder = entry.is_dir(follow_symlinks=False)
            yield path, _folder(path) if is_folder else (found.st_ino, found.st_ctime_ns)
            if is_folder and os.access(path, os.R_OK | os.X_OK):
                yield from _below(path)


def _folder(path: Path) -> tuple[int, int]:
    found, attributes = path.stat(), []
    with suppress(OSError, AttributeError):  # some systems and file systems have none
        attributes = [(name, os.getxattr(path, name)) for name in sorted(os.listxattr(path))]
    return found.st_ino, hash((found.st_mode, *attributes))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        make_writable(path)
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)
