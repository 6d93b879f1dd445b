"""The lease: which of its edits a leaf may keep. Pure.

It may change its own files and those that all share, and make files that are not there when it
starts. All else is another's, or nobody's, and is kept aside as a request. A new file is another's
too where it cannot stand beside what is put back: below a file that is not its own, in place of a
folder that has such files, or with the name of one in other letters, for some disks see no
difference between `Readme` and `README`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from fanwise.plan.model.paths import above
from fanwise.plan.split.patterns import Patterns


class LeasedPaths(NamedTuple):
    """What was changed, each path in one of these, in order."""

    own: tuple[str, ...]
    shared: tuple[str, ...]
    new: tuple[str, ...]
    foreign: tuple[str, ...]

    @property
    def kept(self) -> tuple[str, ...]:
        """The paths that it may change."""
        return tuple(sorted((*self.own, *self.shared, *self.new)))


def leased(
    changed: Iterable[str], *, own: Collection[str], shared: Sequence[str], before: Collection[str]
) -> LeasedPaths:
    """Sort what a leaf has changed; `before` are all files that were there at its start."""
    mine = set(own)
    common = Patterns(shared).match if shared else _nothing
    others = _Others(path for path in before if path not in mine and not common(path))
    found: dict[str, list[str]] = {name: [] for name in LeasedPaths._fields}
    for path in sorted(set(changed)):
        if path in mine:
            kind = "own"
        elif path in before:
            kind = "shared" if common(path) else "foreign"
        elif others.in_the_way_of(path):
            kind = "foreign"
        else:
            kind = "shared" if common(path) else "new"
        found[kind].append(path)
    return LeasedPaths(**{name: tuple(paths) for name, paths in found.items()})


def _nothing(_: str) -> bool:
    return False


class _Others:
    """Files that are not this leaf's, and the folders that they are in."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()
        for path in paths:
            self._files.add(path.casefold())
            self._folders.update(above(path.casefold()))

    def in_the_way_of(self, path: str) -> bool:
        """Whether a new file cannot be there beside them."""
        plain = path.casefold()
        if plain in self._files or plain in self._folders:
            return True
        return any(folder in self._files for folder in above(plain))
