"""What a leaf changed, and what became of it, as the journal keeps it. Pure.

Contents of files are blobs of the repository, by their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

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


Stage = Literal["work", "edits", "verify", "subplans", "merge", "user"]
"""Where a try can fail: the command, model or function; what it changed; the verification; the
sub-plans that it returned; the merge with others. `user`: the user wants it tried again."""


class Try(msgspec.Struct, frozen=True, kw_only=True):
    """A try at a leaf that did not do: the next one is told so."""

    stage: Stage
    reason: str
    """One line."""
    said: str = ""
    """The end of what the command or the verification wrote."""
    seconds: float = 0.0


class SubPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a leaf that it returned instead of edits."""

    goal: str
    files: tuple[str, ...]


class LeafResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a leaf that is done."""

    leaf: str
    status: Literal["changed", "unchanged", "split"]
    change: Change | None = None
    """None: it changed nothing, or returned sub-plans."""
    requests: tuple[EditRequest, ...] = ()
    subplans: tuple[SubPlan, ...] = ()
    tries: tuple[Try, ...] = ()
    """Those before the one that did."""
    verified: Literal["passed", "no tests", "not asked"] = "not asked"
    said: str = ""
    """The end of what the command, or the model, said."""
    seconds: float = 0.0
    """Of all tries, without the waiting for a workspace."""
    of: str = ""
    """A digest of all that it was made from."""

    @property
    def in_vain(self) -> str:
        """What went wrong, if it is unchanged because its tries failed; else empty."""
        if self.status != "unchanged" or not self.tries:
            return ""
        last = self.tries[-1]
        times = "1 try" if len(self.tries) == 1 else f"{len(self.tries):,} tries"
        return f"{times} failed; the last: {last.stage}: {last.reason}"
