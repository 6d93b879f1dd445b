"""Files that git does not know and tests need: found in the user's tree, copied to each slot.

Contents are copied, never links: a link to the user's file would let a workspace write there. And
nothing is taken from outside the repository, or put outside the slot, by whatever links.
"""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path, PurePath

from fanwise.errors import UsageError


def matching(top: Path, patterns: Iterable[str], tracked: Collection[str]) -> list[str]:
    """Return the files under `top` that the patterns name, relative to it.

    A folder stands for all that is in it, `**` for any folders. What git tracks is left out: it
    is there anyway, as it was committed.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        _check(pattern)
        names = glob.glob(pattern, root_dir=top, recursive=True, include_hidden=True)  # noqa: PTH207
        if not names:
            raise UsageError(
                f"nothing matches copy: {pattern!r}",
                f"Name files or folders in {top}, such as tests/data/*.bin",
            )
        for name in sorted(names):
            found.update(dict.fromkeys(_files(top, name)))
    return [name for name in found if name not in tracked]


def copy_all(top: Path, names: Iterable[str], root: Path) -> None:
    """Copy the files to where they are in the other tree."""
    for name in names:
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.parent.resolve().is_relative_to(root.resolve()):
            raise UsageError(
                f"copy: {name!r} would be written to {target.parent.resolve()}",
                "A folder on the way is a link that leads out of the repository",
            )
        shutil.copy2(top / name, target)


def _check(pattern: str) -> None:
    path = PurePath(pattern)
    if not path.parts or path.is_absolute() or ".." in path.parts or path.parts[0] == ".git":
        raise UsageError(
            f"copy: {pattern!r} does not stay in the repository",
            "Give patterns relative to its top, without ..",
        )


def _files(top: Path, name: str) -> Iterator[str]:
    path = top / name
    if PurePath(name).parts[:1] == (".git",):
        return
    if not path.resolve().is_relative_to(top.resolve()):
        raise UsageError(
            f"copy: {name!r} is a link to {path.resolve()}, outside of the repository",
            "Copy it into the repository, or leave it out",
        )
    if not path.is_dir():
        if path.is_file():
            yield os.path.normpath(name)
        return
    if path.is_symlink():
        raise UsageError(f"copy: {name!r} is a link to a folder", "Name the folder itself")
    for each in sorted(os.listdir(path)):  # noqa: PTH208
        yield from _files(top, os.path.join(name, each))  # noqa: PTH118
