"""The changes of leaves, one after another in the order of the tree, into one tree.

What only one leaf touches, or several to the same effect, is laid over without a look at its
contents: with disjoint leaves, that is all. The rest is brought together against the commit that
all started from, never against what an earlier merge has made of it; see `overlapping`. A leaf
whose changes cannot stand beside the earlier ones is set aside as a whole, so that the merged tree
has every change of a leaf or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from fanwise.plan.merge.leaf_merge import LeafMerge, LeafMerger
from fanwise.plan.merge.partial_merge import PartialMerge
from fanwise.plan.merge.trees import Files, blobs_at
from fanwise.plan.model.change import Change
from fanwise.plan.model.merge_result import (
    Conflict,
    MergeResult,
    MovedFile,
    OverwrittenFile,
    Strategy,
)
from fanwise.workspaces.apart import apart
from fanwise.workspaces.git import Git


class LeafEdits(NamedTuple):
    """What one leaf does to the tree that the earlier ones have made."""

    leaf: str
    files: Files


class UnwrittenMerge(NamedTuple):
    """A merge, before anything of it is written as a tree."""

    laid: tuple[LeafEdits, ...]
    conflicts: tuple[Conflict, ...] = ()
    taken: tuple[OverwrittenFile, ...] = ()
    moved: tuple[MovedFile, ...] = ()


def merge_result(found: UnwrittenMerge, tree: str) -> MergeResult:
    return MergeResult(
        tree=tree,
        leaves=tuple(each.leaf for each in found.laid),
        conflicts=found.conflicts,
        taken=found.taken,
        moved=found.moved,
    )


def lay(git: Git, base: str, changes: Sequence[Change], strategy: Strategy) -> UnwrittenMerge:
    """Find what each leaf does to the tree. Only blobs are written."""
    at_base = blobs_at(git, base)
    real = [_without_same(change, at_base) for change in changes]
    so_far = PartialMerge(at_base)
    with apart(git) as own:
        bringing = LeafMerger(own, so_far, {each.leaf: each for each in real}, strategy)
        if strategy == "fail_on_conflict":
            overlaps = tuple(_overlaps(so_far, bringing, real))
            laid = () if overlaps else tuple(LeafEdits(each.leaf, each.files) for each in real)
            return UnwrittenMerge(laid, overlaps)
        outcomes = [(change.leaf, _outcome(so_far, bringing, change)) for change in real]
    return _found(outcomes)


def _outcome(so_far: PartialMerge, bringing: LeafMerger, change: Change) -> LeafMerge:
    """What becomes of the next leaf; if it is in, that is noted."""
    outcome = bringing.outcome(change)
    if not outcome.conflicts:
        so_far.put(change.leaf, change.files, outcome.files, outcome.moved)
    return outcome


def _found(outcomes: Sequence[tuple[str, LeafMerge]]) -> UnwrittenMerge:
    return UnwrittenMerge(
        tuple(LeafEdits(leaf, each.files) for leaf, each in outcomes if not each.conflicts),
        tuple(conflict for _, each in outcomes for conflict in each.conflicts),
        tuple(taken for _, each in outcomes for taken in each.taken),
        tuple(moved for _, each in outcomes for moved in each.moved),
    )


def _without_same(change: Change, at_base: Files) -> Change:
    files = {path: blob for path, blob in change.files.items() if at_base.get(path) != blob}
    return replace(change, files=files)


def _overlaps(
    so_far: PartialMerge, bringing: LeafMerger, changes: Sequence[Change]
) -> list[Conflict]:
    """Every difference between two leaves about one path, or about where a file goes.

    And files where others need folders.
    """
    wanted: dict[str, list[tuple[str, object]]] = {}
    found: list[Conflict] = []
    for change in changes:
        by_others: dict[tuple[str, ...], set[str]] = {}
        for path, blob in change.files.items():
            others = tuple(leaf for leaf, other in wanted.get(path, ()) if other != blob)
            if others:
                by_others.setdefault(others, set()).add(path)
            wanted.setdefault(path, []).append((change.leaf, blob))
        for path, ways in so_far.in_the_way(change.files).items():
            by_others.setdefault(so_far.who(ways), set()).update((path, *ways))
        for moved in bringing.moved_twice(change):
            by_others.setdefault(moved.others, set()).update(moved.paths)
        found += [
            Conflict(kind="overlap", paths=tuple(sorted(paths)), leaf=change.leaf, others=others)
            for others, paths in by_others.items()
        ]
        clear = {path: blob for path, blob in change.files.items() if path not in so_far.owners}
        if not so_far.in_the_way(clear):
            so_far.put(change.leaf, change.files, clear)
    return found
