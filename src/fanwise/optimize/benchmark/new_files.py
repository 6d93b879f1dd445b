"""What a measured process left in its workspace. It is removed before the next one starts.

Otherwise a candidate could write its results to a file, and from the second process on every call
would be one that it has seen before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from fanwise.workspaces.folders import make_writable, remove_tree

Seen = dict[Path, tuple[int, int]]
"""Each file and folder, with its inode and when it changed, which nobody can set; a folder's is 0:
it changes with what is in it."""


def look_at(root: Path) -> Seen:
    """All that is in a folder now."""
    return dict(_below(root))


def remove_new(root: Path, before: Seen) -> list[str]:
    """Remove what was not there before, and name the files that were, and are not as they were."""
    now, known = look_at(root), {root, *before}
    for path in now:
        if path not in known and path.parent in known:
            _remove(path)
    changed = (path for path, seen in before.items() if now.get(path) != seen)
    return sorted(str(path.relative_to(root)) for path in changed)


def _below(folder: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            found = entry.stat(follow_symlinks=False)
            is_folder = entry.is_dir(follow_symlinks=False)
            yield Path(entry.path), (found.st_ino, 0 if is_folder else found.st_ctime_ns)
            if is_folder and os.access(entry.path, os.R_OK | os.X_OK):
                yield from _below(Path(entry.path))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        make_writable(path)
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)
