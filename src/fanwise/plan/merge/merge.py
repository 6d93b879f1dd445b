"""Merges the changes of leaves, one after another in tree order, into one tree.

What only one leaf touches, or several in the same way, is taken over without reading its content:
for disjoint leaves that is all. The rest is merged against the commit that all leaves started
from, never against an earlier merge; see `three_way`. A leaf that conflicts with earlier ones is
set aside as a whole, so that the merged tree has every change of a leaf or none.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from fanwise.plan.merge.leaf_merge import LeafMerge, LeafMerger
from fanwise.plan.merge.partial_merge import PartialMerge
from fanwise.plan.merge.trees import Files, blobs_at
from fanwise.plan.model.leaf_result import Change
from fanwise.plan.model.merge_result import MergeResult
from fanwise.workspaces.apart import apart
from fanwise.workspaces.git import Git


def merge_result(merges: Sequence[LeafMerge], tree: str) -> MergeResult:
    """Sum up the merges of all leaves; `tree` is the tree that they made."""
    return MergeResult(
        tree=tree,
        leaves=tuple(each.leaf for each in merges if not each.conflicts),
        conflicts=tuple(conflict for each in merges for conflict in each.conflicts),
    )


def merge_leaves(git: Git, base: str, changes: Sequence[Change]) -> list[LeafMerge]:
    """Find what each leaf does to the tree. Only blobs are written."""
    at_base = blobs_at(git, base)
    real = [_without_same(change, at_base) for change in changes]
    so_far = PartialMerge(at_base)
    with apart(git) as own:
        merger = LeafMerger(own, so_far, {each.leaf: each for each in real})
        return [_outcome(so_far, merger, change) for change in real]


def _outcome(so_far: PartialMerge, merger: LeafMerger, change: Change) -> LeafMerge:
    """Merge the next leaf, and note it if there is no conflict."""
    outcome = merger.outcome(change)
    if not outcome.conflicts:
        so_far.put(change.leaf, change.files, outcome.files)
    return outcome


def _without_same(change: Change, at_base: Files) -> Change:
    files = {path: blob for path, blob in change.files.items() if at_base.get(path) != blob}
    return replace(change, files=files)
