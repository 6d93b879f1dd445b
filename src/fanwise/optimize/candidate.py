"""A candidate: a change that somebody says is faster."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["patch", "file", "function", "branch"]
How = Literal["given", "proposed", "repaired", "refined"]


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A change, not yet judged. JSON-able: the journal keeps it."""

    key: str
    """Its identity across resumes."""
    name: str
    """What people call it: a file's name, a branch, `proposal 3`."""
    kind: Kind
    content: str
    """A patch, a whole file, the source of a function, or the commit of a branch."""
    path: str | None = None
    """Of a whole file: which one it replaces, relative to the top of the repository."""
    parent: str | None = None
    """The key of the one that it was made from."""
    how: How = "given"
    round: int = 0
