"""Merges the changes of one leaf into those of the earlier leaves, or says why that fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fanwise.plan.merge.partial_merge import PartialMerge
from fanwise.plan.merge.three_way import GitMessage, ThreeWayResult, lay_attributes, merge_sides
from fanwise.plan.merge.trees import Files
from fanwise.plan.model.leaf_result import Blob, Change
from fanwise.plan.model.merge_result import Conflict, Kind
from fanwise.workspaces.git import Git


class LeafMerge(NamedTuple):
    """What a leaf does to the tree that the earlier ones made, or its conflicts with them."""

    leaf: str
    files: Files
    conflicts: tuple[Conflict, ...] = ()


class Sides(NamedTuple):
    """The files that both sides changed: at the base, and as each side has them."""

    base: dict[str, Blob]
    ours: dict[str, Blob]
    theirs: dict[str, Blob]
    paths: Sequence[str]


class LeafMerger:
    """Merges one leaf after another into what is merged so far."""

    def __init__(self, git: Git, so_far: PartialMerge, changes: Mapping[str, Change]) -> None:
        self._git = git
        self._so_far = so_far
        self._changes = changes
        self._has_attributes = False

    def outcome(self, change: Change) -> LeafMerge:
        ways = self._so_far.in_the_way(change.files)
        if ways:
            clashes = tuple(self._clash(change, path, each) for path, each in ways.items())
            return LeafMerge(change.leaf, {}, clashes)
        differing = self._so_far.differing(change.files)
        if self._moves(change):
            differing += self._so_far.deleted_twice(change.files)
        if not differing:
            return LeafMerge(change.leaf, change.files)
        sides = self._sides(change, differing)
        met = self._together(sides)
        if met.conflicts:
            return LeafMerge(change.leaf, {}, self._named(change, sides, met.conflicts, met.marks))
        merged = {path: met.files.get(path) for path in sides.paths}
        return LeafMerge(change.leaf, {**change.files, **merged})

    def _together(self, sides: Sides) -> ThreeWayResult:
        if not self._has_attributes:
            lay_attributes(self._git, self._so_far.base)
            self._has_attributes = True
        return merge_sides(self._git, sides.base, sides.ours, sides.theirs)

    def _named(
        self, change: Change, sides: Sides, conflicts: Iterable[GitMessage], marks: str
    ) -> tuple[Conflict, ...]:
        found: dict[tuple[Kind, tuple[str, ...]], set[str]] = {}
        for said in conflicts:
            paths = _whole(said.paths, sides)
            others = self._others(sides, self._so_far.who(paths))
            found.setdefault((_kind(said, sides), others), set()).update(paths)
        return tuple(
            self._conflict(kind, sorted(paths), change, others, marks)
            for (kind, others), paths in found.items()
        )

    def _sides(self, change: Change, differing: Sequence[str]) -> Sides:
        """The files that both changed; for a deleted one, also the files it may have become."""
        now = self._so_far.files
        more: list[str] = []
        if any(change.files[path] is None for path in differing):
            more += _new(change, self._so_far.base)
        if any(path not in now for path in differing):
            more += [p for leaf in self._so_far.who(differing) for p in self._so_far.added_by(leaf)]
        may_be = [path for path in more if not _nested(path, differing)]
        paths = tuple(dict.fromkeys((*differing, *may_be)))
        before = {path: change.start.get(path, self._so_far.base.get(path)) for path in paths}
        base = {path: blob for path, blob in before.items() if blob is not None}
        ours = {path: now[path] for path in paths if path in now}
        return Sides(base, ours, _over(base, change.files, paths), paths)

    def _others(self, sides: Sides, others: tuple[str, ...]) -> tuple[str, ...]:
        """Of several leaves that changed the files, those that conflict with this one."""
        if len(others) < 2:
            return others
        alone = []
        for leaf in others:
            ours = _over(sides.base, self._changes[leaf].files, sides.paths)
            if merge_sides(self._git, sides.base, ours, sides.theirs).conflicts:
                alone.append(leaf)
        return tuple(alone) or others

    def _moves(self, change: Change) -> bool:
        """Whether files that two leaves deleted may have been moved by one of them."""
        twice = self._so_far.deleted_twice(change.files)
        adders = (self._so_far.added_by(leaf) for leaf in self._so_far.who(twice))
        return bool(twice) and (any(_new(change, self._so_far.base)) or any(adders))

    def _clash(self, change: Change, path: str, ways: Sequence[str]) -> Conflict:
        others = self._so_far.who(ways)
        alike = any(each.casefold() == path.casefold() for each in ways)
        kind: Kind = "add/add" if alike else "file/folder"
        more = "some disks see no difference between these names" if alike else ""
        return self._conflict(kind, [path, *ways], change, others, more)

    def _conflict(
        self, kind: Kind, paths: Sequence[str], change: Change, others: tuple[str, ...], more: str
    ) -> Conflict:
        names = ", ".join(self._changes[leaf].title for leaf in others) or "the start"
        head = f"{kind}: {', '.join(paths)} ({change.title}; {names})"
        detail = f"{head}\n{more}" if more else head
        return Conflict(
            kind=kind, paths=tuple(paths), leaf=change.leaf, others=others, detail=detail
        )


def _over(base: Mapping[str, Blob], files: Files, paths: Iterable[str]) -> dict[str, Blob]:
    """The files of a side: what it has changed, and else what was there."""
    found = {path: files.get(path, base.get(path)) for path in paths}
    return {path: blob for path, blob in found.items() if blob is not None}


def _new(change: Change, base: Mapping[str, Blob]) -> list[str]:
    return [path for path, blob in change.files.items() if blob is not None and path not in base]


def _nested(path: str, others: Iterable[str]) -> bool:
    """Whether one is a folder of the other: a file that became a folder is not one moved there."""
    return any(path.startswith(f"{one}/") or one.startswith(f"{path}/") for one in others)


def _is_moved(path: str, sides: Sides) -> bool:
    """Whether a file that git speaks of was there under another name, for one side or for both."""
    return path not in sides.base and (path in sides.ours) != (path in sides.theirs)


def _whole(paths: Iterable[str], sides: Sides) -> list[str]:
    """The paths of a conflict; of a file that was renamed, those that it may have had before.

    Names that git has made up, to keep a file beside a link, are nobody's.
    """
    found = [path for path in paths if path in sides.paths]
    if any(_is_moved(path, sides) for path in found):
        found += [path for path in sides.base if path not in sides.ours or path not in sides.theirs]
    return list(dict.fromkeys(found))


def _kind(said: GitMessage, sides: Sides) -> Kind:
    if "rename" in said.kind:
        return "rename"
    if said.kind == "modify/delete":
        return "modify/delete"
    if said.kind == "file/directory":
        return "file/folder"
    if any(_is_moved(path, sides) for path in said.paths):
        return "rename"
    return "content" if any(path in sides.base for path in said.paths) else "add/add"
