"""Sorts what a try left in its workspace by the lease, and undoes what is not the leaf's own.

Sync, for a thread. What runs in a workspace may do anything to it. If that cannot be undone, the
try has failed, and the next one gets a new workspace.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from fanwise.errors import FanwiseError
from fanwise.plan.model.leaf_result import EditRequest
from fanwise.plan.model.node import Node
from fanwise.plan.work.lease import sort_by_lease
from fanwise.workspaces import Workspace
from fanwise.workspaces.folders import make_writable

MOST_SHOWN = 20
"""Requests of one try that are kept one by one; of the others, how many each owner has."""
MOST_PATCH = 20_000
"""Characters of one patch."""
_ROUNDS = 3


class UnusableWorkspace(Exception):
    """Why a workspace cannot be used any more."""


class KeptEdits(msgspec.Struct, frozen=True, kw_only=True):
    """What the leaf may keep; everything else was undone in the workspace."""

    kept: tuple[str, ...]
    requests: tuple[EditRequest, ...] = ()
    whole: bytes = b""
    """The edits that were undone, as a patch."""


def settle(
    workspace: Workspace, leaf: Node, *, shared: Sequence[str], owners: Mapping[str, str]
) -> KeptEdits:
    """Sort what was changed, and undo what is not this leaf's. `UnusableWorkspace`."""
    check_folder(workspace)
    try:
        return _sort_edits(workspace, leaf, shared, owners)
    except (OSError, FanwiseError):
        make_writable(workspace.root)
    try:
        return _sort_edits(workspace, leaf, shared, owners)
    except (OSError, FanwiseError) as error:
        raise UnusableWorkspace(
            f"what it did to the workspace cannot be undone: {_why(error)}"
        ) from error


def check_folder(workspace: Workspace) -> None:
    """See that the folder is there, and is no link to another. `UnusableWorkspace`."""
    root = workspace.root
    if root.is_symlink() or not root.is_dir():
        raise UnusableWorkspace("it removed or replaced the folder of the workspace itself")


def _sort_edits(
    workspace: Workspace, leaf: Node, shared: Sequence[str], owners: Mapping[str, str]
) -> KeptEdits:
    before = workspace.files_at_base()
    found: dict[str, EditRequest] = {}
    whole: list[bytes] = []
    for _ in range(_ROUNDS):  # what is undone may be a .gitignore, and then there is more to see
        for path, patch in workspace.undo_in_submodules().items():
            found[path] = _request(leaf.id, None, path, os.fsdecode(patch))
            whole.append(patch)
        changes = workspace.changes()
        if changes.nested:
            first = changes.nested[0]
            raise UnusableWorkspace(f"it created a git repository inside this one: {first}")
        own = changes.files if leaf.is_task else leaf.files
        now = sort_by_lease(changes.files, own=own, shared=shared, before=before)
        if not now.foreign:
            _check_names(now.kept)
            return KeptEdits(kept=now.kept, requests=tuple(found.values()), whole=b"".join(whole))
        requests = _requests(workspace, leaf.id, now.foreign, owners)
        found.update({each.path: each for each in requests})
        whole.append(workspace.diff(now.foreign))
        workspace.restore(now.foreign)
    raise UnusableWorkspace(f"it keeps changing: {', '.join(now.foreign[:3])}")


def _requests(
    workspace: Workspace, leaf: str, foreign: Sequence[str], owners: Mapping[str, str]
) -> list[EditRequest]:
    """Each edit as a request; of further ones, how many each owner has."""
    found = [
        _request(leaf, owners.get(path), path, os.fsdecode(workspace.diff([path], binary=False)))
        for path in foreign[:MOST_SHOWN]
    ]
    rest: dict[str | None, list[str]] = {}
    for path in foreign[MOST_SHOWN:]:
        rest.setdefault(owners.get(path), []).append(path)
    return found + [
        EditRequest(leaf=leaf, owner=owner, path=_text(paths[0]), patch="", more=len(paths) - 1)
        for owner, paths in rest.items()
    ]


def _request(leaf: str, owner: str | None, path: str, patch: str) -> EditRequest:
    if len(patch) > MOST_PATCH:
        left = len(patch) - MOST_PATCH
        patch = f"{patch[:MOST_PATCH]}\n… {left:,} characters left out …\n"
    return EditRequest(leaf=leaf, owner=owner, path=_text(path), patch=_text(patch))


def _check_names(kept: Sequence[str]) -> None:
    """Refuse names that are not valid text: nothing that stores the change could store them."""
    for path in kept:
        if _text(path) != path:
            raise UnusableWorkspace(f"it created a file whose name is not valid text: {path!r}")


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def keep_patch(folder: Path, name: str, patch: bytes) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_bytes(patch)
    return str(file)


def _why(error: Exception) -> str:
    return str(error).partition("\n")[0][:300]
