"""Which folders a workspace needs: of a big repository not all are checked out. Pure.

To edit, a leaf needs its files and those that they import, with the files beside them. To verify,
the files and the tests of the leaf run: then everything that they import is checked out too, in
whole folders, because templates and data lie below code; and all code outside the plan, because its
imports are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fanwise.plan.split.files import READ
from fanwise.workspaces.sparse import FILES_ONLY

BIG = 5_000
"""A repository with more files than this is checked out in part, if the file does not say."""
NOTHING = (".fanwise-nothing",)
"""The folder of a slot that nobody has taken yet: only the files at the top are there."""


def is_sparse(asked: bool | Sequence[str] | None, files: int) -> bool:
    if asked is None:
        return files > BIG
    return asked is not False


class SparseFolders:
    """The folders of each sub-plan. `further`: those that all have."""

    def __init__(
        self, imports: Mapping[str, Sequence[str]], further: Iterable[str], *, runs: bool
    ) -> None:
        self._imports = imports
        self._further = {each.strip("/") for each in further}
        self._runs = runs
        """Whether the files are run, and not only read."""

    def of(self, files: Iterable[str], tests: Iterable[str]) -> tuple[str, ...]:
        own = dict.fromkeys((*files, *tests))
        if self._runs:
            needed = folders(self._all(own))
        else:
            used = [path for file in own for path in self._imports.get(file, ())]
            needed = {f"{each}{FILES_ONLY}" for each in folders((*own, *used))}
        return tuple(sorted(self._further | needed)) or NOTHING

    def _all(self, files: Iterable[str]) -> set[str]:
        found, look = set(files), list(files)
        while look:
            fresh = set(self._imports.get(look.pop(), ())) - found
            found |= fresh
            look += fresh
        return found


def folders(paths: Iterable[str]) -> set[str]:
    """Those that files are in; what is at the top is always there."""
    return {path.rpartition("/")[0] for path in paths} - {""}


def code_beside(names: Iterable[str], planned: Mapping[str, object]) -> set[str]:
    return folders(name for name in names if name.endswith(READ) and name not in planned)
