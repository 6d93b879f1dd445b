"""A leaf that is worked on by a worker of the run: in a workspace there, with the same code.

There go the leaf, who does it and the commit that it begins with; back come its result, the
contents that it changed as a pack of objects, and the patches that are kept for the user.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

import msgspec
from msgspec.structs import replace

from fanwise.errors import SubPlanFailed
from fanwise.kernel.in_thread import in_thread, thread_context
from fanwise.kernel.parcels import unpacked
from fanwise.kernel.sent_calls import anywhere
from fanwise.kernel.sent_workspaces import SentRepository, workspaces_there
from fanwise.plan.model.leaf_result import LeafResult, Try
from fanwise.plan.model.node import Node
from fanwise.plan.work.leaf import LeafArguments, do_leaf
from fanwise.plan.work.settle import keep_patch
from fanwise.plan.work.signatures import Declarations
from fanwise.plan.work.sparse_folders import NOTHING
from fanwise.workspaces.git import Git
from fanwise.workspaces.shipment import pack_commit, pack_objects, take_objects


class LeafAway(msgspec.Struct, frozen=True, kw_only=True):
    """What comes back from a worker."""

    result: LeafResult | None
    """None: it was given up."""
    tries: Sequence[Try] = ()
    kept: str | None = None
    """The name of the patch with its edits, if it was given up."""
    patches: Mapping[str, bytes]
    objects: bytes


async def do_leaf_away(
    sent: SentRepository, git: Git, leaf: Node, **given: Unpack[LeafArguments]
) -> LeafResult:
    """As `do_leaf`. The contents are in the user's repository, the patches in `how.kept`."""
    start, at, how = b"", given.get("at"), given["how"]
    if at is not None and at != sent.base:
        start = await in_thread(pack_commit, git, at, sent.base)
    given["how"] = replace(how, declarations=Declarations())
    back = await anywhere(_do_leaf_there, sent, start, leaf, given)
    await in_thread(take_objects, git, back.objects)
    files = {
        name: await in_thread(keep_patch, how.kept, name, patch)
        for name, patch in back.patches.items()
    }
    if back.result is None:
        raise SubPlanFailed(leaf.id, leaf.title, back.tries, kept=files.get(back.kept or ""))
    return back.result


async def _do_leaf_there(
    sent: SentRepository, start: bytes, leaf: Node, given: LeafArguments
) -> LeafAway:
    """On the worker."""
    git = Git(await unpacked(sent.parcel))
    await in_thread(take_objects, git, start)
    async with (
        workspaces_there(sent, sparse=NOTHING) as pool,
        thread_context(tempfile.TemporaryDirectory(prefix="fanwise-")) as folder,
    ):
        given["how"] = replace(given["how"], kept=Path(folder))
        result, tries, kept = None, (), None
        try:
            result = await do_leaf(leaf, pool=pool, **given)
        except SubPlanFailed as error:
            tries, kept = error.tries, error.kept
        patches = await in_thread(_contents, Path(folder))
        changed = () if result is None or result.change is None else result.change.files.values()
        objects = await in_thread(pack_objects, git, [each.name for each in changed if each])
    kept = None if kept is None else Path(kept).name
    return LeafAway(result=result, tries=tries, kept=kept, patches=patches, objects=objects)


def _contents(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}
