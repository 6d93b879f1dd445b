"""The lease: which of its edits a leaf may keep. Pure.

A leaf may change its own files and those that all share, and create files that did not exist when
it started. Every other file belongs to another leaf or to nobody, and edits there are kept aside as
requests. A new file counts as another's too if it cannot stand beside what is put back: below a
file that is not the leaf's own, in place of a folder that has such files, or with a name that
differs only in case, because some disks see no difference between `Readme` and `README`.
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
        return tuple(sorted((*self.own, *self.shared, *self.new)))


def sort_by_lease(
    changed: Iterable[str], *, own: Collection[str], shared: Sequence[str], before: Collection[str]
) -> LeasedPaths:
    """Sort what a leaf has changed; `before` are all files that were there at its start."""
    mine, paths = set(own), sorted(set(changed))
    common = Patterns(shared).match if shared else lambda path: False
    others: set[str] = set()
    if any(path not in mine and path not in before for path in paths):  # few leaves make new files
        others = {p.casefold() for p in before if p not in mine and not common(p)}
    folders = {folder for path in others for folder in above(path)}
    found: dict[str, list[str]] = {name: [] for name in LeasedPaths._fields}
    for path in paths:
        plain = path.casefold()
        if path in mine:
            kind = "own"
        elif path in before:
            kind = "shared" if common(path) else "foreign"
        elif plain in others or plain in folders or not others.isdisjoint(above(plain)):
            kind = "foreign"
        else:
            kind = "shared" if common(path) else "new"
        found[kind].append(path)
    return LeasedPaths(**{name: tuple(paths) for name, paths in found.items()})
