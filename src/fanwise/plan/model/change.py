"""What a sub-plan changed. Pure: the contents are blobs of the repository, by their names."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Blob(msgspec.Struct, frozen=True):
    """A file in git: its mode, as `ls-tree` writes it, and the name of its content."""

    mode: str
    name: str


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What one leaf did, apart from where it was done: it can be put on any commit."""

    leaf: str
    title: str
    files: Mapping[str, Blob | None]
    """Each path that it changed, and what stands there now; None: it was deleted."""
    goal: str = ""
    """Its own, if it has one."""
    start: Mapping[str, Blob | None] = {}
    """Of a task: what stood there when it began, which is the base of a merge; None: no file."""


class EditRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An edit that a leaf made in a file that is not its own: kept aside for the owner."""

    leaf: str
    """Who wants it."""
    owner: str | None
    """The leaf that has the file; None: no leaf has it."""
    path: str
    patch: str
    """Against the commit that the leaf started from; the beginning, if it is long."""
    more: int = 0
    """So many further files of that owner, of which only the number is kept."""
