"""Changes that are in no result are kept as patches: git may remove objects that nothing names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from fanwise.plan.merge.trees import commit_with
from fanwise.plan.model.change import Change
from fanwise.plan.model.paths import patch_name
from fanwise.plan.state.leaf_entry import LeafEntry
from fanwise.plan.work.settle import keep_patch
from fanwise.workspaces.git import Git
from fanwise.workspaces.moving import patch_between


def keep_changes(
    git: Git, base: str, entries: Mapping[str, LeafEntry], folder: Path
) -> dict[str, str]:
    """Write those of leaves that were set aside or left out; return where each is."""
    found = {}
    for leaf, change in _not_in(entries):
        patch = patch_between(git, base, commit_with(git, base, [change], change.title))
        found[leaf] = keep_patch(folder, patch_name(leaf), patch)
    return found


def _not_in(entries: Mapping[str, LeafEntry]) -> Iterator[tuple[str, Change]]:
    """The change of a second run lies on top of others; that of the first does not."""
    for leaf, entry in entries.items():
        first = None if entry.result is None else entry.result.change
        if first is not None and entry.is_kept:
            yield leaf, first
