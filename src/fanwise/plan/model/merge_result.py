"""What came of a merge, as the journal keeps it. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

from fanwise.plan.model.node import FileNote

Kind = Literal["content", "modify/delete", "add/add", "file/folder", "rename"]
"""What two leaves disagree about: lines of one file; a file that one changes and another deletes; a
file that both create, also if their names differ only in case; a file where another needs a folder;
a file that one renames and another changes, deletes or renames too."""


WorkTree = Literal["", "applied", "rolled back"]
"""What became of the result in the user's work tree; empty: it was not written there."""


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of a leaf that cannot stand beside those of earlier ones."""

    kind: Kind
    paths: tuple[str, ...]
    leaf: str
    """The later one: it is set aside as a whole."""
    others: tuple[str, ...]
    """The earlier ones that it is in conflict with, in order."""
    detail: str = ""
    """What git said, or the lines in question: for people, and for the leaf's next try."""


class MergeResult(msgspec.Struct, frozen=True, kw_only=True):
    """A merged tree, and what did not fit into it."""

    tree: str
    leaves: tuple[str, ...]
    """Those that are in, in order."""
    conflicts: tuple[Conflict, ...] = ()

    @property
    def aside(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.leaf for each in self.conflicts))


class BrokenName(msgspec.Struct, frozen=True, kw_only=True):
    """A name that one leaf took away, and another began to use."""

    name: str
    """With its module: `shop.prices.total`."""
    path: str
    """Where it is used."""
    line: int
    used_by: str
    removed_by: str
    removed_from: str
    """The file that had it."""


class MergeStep(msgspec.Struct, frozen=True, kw_only=True):
    """One merge of a plan: what came of it, as a commit, and what it would break."""

    merged: MergeResult
    commit: str
    """The last of one commit for each leaf; the base, if no leaf is in."""
    broken: tuple[BrokenName, ...] = ()
    of: str = ""
    """A digest of all that it was made from."""


class MergeCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What the check said of a merged tree."""

    passed: bool
    said: str = ""
    """The end of what it wrote."""
    seconds: float = 0.0
    without: tuple[str, ...] = ()
    """The leaves that were left out of the tree."""
    of: str = ""
    """A digest of all that it was made from."""


class PublishedResult(msgspec.Struct, frozen=True, kw_only=True):
    """The branch and the patch that a plan leaves behind."""

    commit: str
    branch: str | None = None
    patch: str | None = None
    """The name of the patch file, in the run's folder."""
    leaves: tuple[str, ...] = ()
    """Those whose changes are in it, in order."""
    left_out: tuple[FileNote, ...] = ()
    """Leaves whose changes are not, and why; `path` is the leaf's id."""
    of: str = ""
    """A digest of all that it was made from."""
