"""A merge in progress: the files so far, and which leaves changed them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from fanwise.plan.merge.trees import Files
from fanwise.plan.model.leaf_result import Blob
from fanwise.plan.model.paths import above


class PartialMerge:
    """Every file, the leaves that changed it, and the folders."""

    def __init__(self, base: Mapping[str, Blob]) -> None:
        self.base = base
        self.files = dict(base)
        self.owners: dict[str, list[str]] = {}
        """The leaves that changed a path, in order; also those that made the same change."""
        self._added: dict[str, list[str]] = {}
        self._folders = Counter(folder for path in base for folder in above(path))
        self._alike: dict[str, set[str]] = {}
        """Paths that leaves changed, by their names and folders in lower case."""

    def differing(self, files: Files) -> list[str]:
        """The paths that an earlier leaf changed in another way."""
        return [
            path
            for path, blob in files.items()
            if path in self.owners and self.files.get(path) != blob
        ]

    def deleted_twice(self, files: Files) -> list[str]:
        """The paths that an earlier leaf deleted too: both may have moved the file."""
        return [
            path
            for path, blob in files.items()
            if blob is None and path in self.owners and path not in self.files
        ]

    def added_by(self, leaf: str) -> list[str]:
        """The files that a leaf created and that still exist."""
        return [path for path in self._added.get(leaf, []) if path in self.files]

    def in_the_way(self, files: Files) -> dict[str, tuple[str, ...]]:
        """New files that cannot exist beside others, each with the paths that are in its way.

        They need a folder where a file is, are where a folder is, or have the name of another
        leaf's file in another case, which some disks cannot tell apart.
        """
        gone = [path for path, blob in files.items() if blob is None and path in self.files]
        folders = Counter(folder for path in gone for folder in above(path))
        found: dict[str, tuple[str, ...]] = {}
        for path, blob in files.items():
            if blob is None:
                continue
            ways = [each for each in above(path) if each in self.files]
            if self._folders[path] > folders[path]:
                ways += [each for each in self.files if each.startswith(f"{path}/")]
            ways += self._alike_but_other(path)
            stay = sorted({each for each in ways if each not in files or files[each] is not None})
            if stay:
                found[path] = tuple(stay)
        return found

    def _alike_but_other(self, path: str) -> list[str]:
        """Files of leaves that a new file collides with on a disk that ignores case."""
        if path in self.base or path in self.files:
            return []
        plain = path.casefold()
        found = [each for each in self._alike.get(plain, ()) if each != path]
        for folder in above(plain):
            found += (each for each in self._alike.get(folder, ()) if each.casefold() == folder)
        return [each for each in found if each in self.files]

    def who(self, paths: Iterable[str]) -> tuple[str, ...]:
        """The leaves that changed any of these paths, in the order in which they were merged."""
        wanted = {leaf for path in paths for leaf in self.owners.get(path, ())}
        return tuple(leaf for leaf in self._added if leaf in wanted)

    def put(self, leaf: str, wanted: Iterable[str], files: Files) -> None:
        """Note what a leaf has done; `wanted` are the paths that it changed itself."""
        for path, blob in files.items():
            self._set(path, blob)
        mine = self._added.setdefault(leaf, [])
        for path in dict.fromkeys((*wanted, *files)):
            self.owners.setdefault(path, []).append(leaf)
            for name in (plain := path.casefold(), *above(plain)):
                self._alike.setdefault(name, set()).add(path)
            if path not in self.base and path in self.files:
                mine.append(path)

    def _set(self, path: str, blob: Blob | None) -> None:
        there = path in self.files
        if blob is None:
            self.files.pop(path, None)
        else:
            self.files[path] = blob
        step = (blob is not None) - there
        if step:
            for folder in above(path):
                self._folders[folder] += step
