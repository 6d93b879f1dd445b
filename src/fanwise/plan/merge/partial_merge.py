"""A merge on its way: the files as they are by now, and who changed which. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from fanwise.plan.merge.trees import Files
from fanwise.plan.model.change import Blob
from fanwise.plan.model.merge_result import MovedFile
from fanwise.plan.model.paths import above


class PartialMerge:
    """Every file, the one who changed it, and the folders that they make."""

    def __init__(self, base: Mapping[str, Blob]) -> None:
        self.base = base
        self.files = dict(base)
        self.owners: dict[str, list[str]] = {}
        """The leaves that changed a path, in order; those that wanted the same too."""
        self.renamed_from: dict[str, list[str]] = {}
        """The old names of files whose edits by other leaves went along with a rename."""
        self._added: dict[str, list[str]] = {}
        self._folders = Counter(folder for path in base for folder in above(path))
        self._alike: dict[str, set[str]] = {}
        """What leaves have changed, by its name and those of its folders, in small letters."""

    def differing(self, files: Files) -> list[str]:
        """Return the paths that somebody has changed, and not to the same."""
        return [
            path
            for path, blob in files.items()
            if path in self.owners and self.files.get(path) != blob
        ]

    def deleted_twice(self, files: Files) -> list[str]:
        """Return the paths that somebody has deleted too: both may have moved the file."""
        return [
            path
            for path, blob in files.items()
            if blob is None and path in self.owners and path not in self.files
        ]

    def added_by(self, leaf: str) -> list[str]:
        """Return the files that a leaf has made, as far as they are there."""
        return [path for path in self._added.get(leaf, []) if path in self.files]

    def in_the_way(self, files: Files) -> dict[str, tuple[str, ...]]:
        """Return the new files that need a folder where a file is, or are where a folder is.

        Or that have the name of another leaf's file in other letters: some disks see no difference,
        and could not have both. With each, the paths that are in its way when all else of `files`
        is done.
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
        """The files of leaves that a new one cannot stand beside where letters are all the same."""
        if path in self.base or path in self.files:
            return []
        plain = path.casefold()
        found = [each for each in self._alike.get(plain, ()) if each != path]
        for folder in above(plain):
            found += (each for each in self._alike.get(folder, ()) if each.casefold() == folder)
        return [each for each in found if each in self.files]

    def who(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return the leaves that changed any of these, in the order in which they were merged."""
        wanted = {leaf for path in paths for leaf in self.owners.get(path, ())}
        return tuple(leaf for leaf in self._added if leaf in wanted)

    def put(
        self, leaf: str, wanted: Iterable[str], files: Files, moved: Iterable[MovedFile] = ()
    ) -> None:
        """Take note of what a leaf has done; `wanted` are the paths that it was about."""
        for each in moved:
            self.renamed_from.setdefault(each.to, []).append(each.path)
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
