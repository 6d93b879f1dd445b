"""What a run starts from. Stored with the run, so that a resume starts from the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fanwise.plan.model.node import Split


class PlanBase(msgspec.Struct, frozen=True, kw_only=True):
    """What all starts from, and how it was split: as it was when the run began."""

    commit: str = msgspec.field(name="base")
    inside: str = ""
    """The folder of the repository that names in the file are relative to; empty: its top."""
    split: Split
    digests: Mapping[str, str]
    """Of the content of each file that is in the plan."""
    tokens: Mapping[str, int]
    files: int = 0
    """How many there are in the commit, in the plan or not."""
    uncommitted: int = 0
    """Files of the work tree that are not as in HEAD, and were left out."""
    unmatched: tuple[str, ...] = ()
    """Patterns that match no file."""
    workflow: dict[str, Any] | None = None
    """Of `each`: the file, as it was."""
