"""A candidate: a change that somebody says is faster."""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

Kind = Literal["patch", "file", "function", "branch", "unreadable"]
How = Literal["given", "proposed", "repaired", "refined"]


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A change, not yet judged. JSON-able: the journal keeps it."""

    key: str
    """Its identity across resumes."""
    name: str
    """What people call it: a file's name, a branch, `proposal 3`."""
    kind: Kind
    content: str
    """A patch, a whole file, the source of a function, the commit of a branch, or why a file is
    none of them."""
    path: str | None = None
    """Of a whole file: which one it replaces, relative to the top of the repository."""
    parent: str | None = None
    """The key of the candidate that it is based on."""
    how: How = "given"
    round: int = 0

    @classmethod
    def make(
        cls,
        name: str,
        kind: Kind,
        content: str,
        *,
        path: str | None = None,
        parent: str | None = None,
        how: How = "given",
        round: int = 0,  # noqa: A002 - the field's name
    ) -> Candidate:
        """Make one whose key follows from what it is, what it is called and what it was made from.

        The name is part of it, so two files with the same content are two candidates. That they
        are the same is found, and said, when they are judged.
        """
        parts = msgspec.json.encode([name, kind, content, path, parent])
        key = hashlib.blake2b(parts, digest_size=10).hexdigest()
        return cls(
            key=key, name=name, kind=kind, content=content,
            path=path, parent=parent, how=how, round=round,
        )  # fmt: skip
